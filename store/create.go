package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"
	_ "time/tzdata" // zones mean the same on machines without zone files

	"cohort/placement"

	bolt "go.etcd.io/bbolt"
)

// create writes an empty store beside the path and links it into place, so
// that nobody ever opens a half-made one, and a file that another process put
// there meanwhile is not overwritten.
func create(path string, o Options) error {
	set := settings{ids: o.IDs, positions: o.Positions, weekStart: o.WeekStart, dropStrings: o.DropStrings, zone: o.TimeZone}
	if set.ids == 0 {
		set.ids = placement.Branded
	}
	if set.weekStart == 0 {
		set.weekStart = Monday
	}
	if set.zone == "" {
		set.zone = "UTC"
	}
	switch {
	case set.ids == placement.Number && set.positions != 0:
		return errNumberPositions
	case set.ids != placement.Number && set.positions == 0:
		set.positions = Hashed
	}
	if set.dropStrings && set.ids != placement.String {
		return fmt.Errorf("DropStrings is for stores of string ids, not of %s ids", set.ids)
	}
	if _, err := loadZone(set.zone); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".cohort-new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	temp := filepath.Join(dir, "store")
	if err := writeEmpty(temp, set); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	err = os.Link(temp, path)
	switch {
	case errors.Is(err, fs.ErrExist) && o.Create == CreateOnly:
		return ErrExist
	case errors.Is(err, fs.ErrExist):
		return nil // someone was faster: open theirs
	case err != nil:
		// A file system without hard links.
		if err := os.Rename(temp, path); err != nil {
			return err
		}
	}
	return syncFile(filepath.Dir(path))
}

var errNumberPositions = errors.New("number ids are their own positions: a store of them is neither hashed nor dense")

// loadZone finds a zone by its IANA name. "Local" is refused: it would mean
// something else on the next machine.
func loadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New(`time zone "Local" depends on the machine; give an IANA name such as Europe/Berlin`)
	}
	if len(name) > math.MaxUint8 {
		return nil, errors.New("the time zone's name is longer than 255 bytes")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", name, err)
	}
	return zone, nil
}

func writeEmpty(path string, set settings) error {
	b, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
	if err != nil {
		return boltError(err)
	}
	b.AllocSize = allocSize
	err = b.Update(func(tx *bolt.Tx) error {
		for _, name := range allBuckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		if err := meta.Put(keyFormat, sealFormat(formatVersion)); err != nil {
			return err
		}
		return meta.Put(keyStore, set.seal())
	})
	return boltError(errors.Join(err, b.Close()))
}

// syncFile returns when a file or folder is on disk as others see it.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
