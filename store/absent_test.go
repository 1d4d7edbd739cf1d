package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cohort/store"

	bolt "go.etcd.io/bbolt"
)

// Here entries are damaged so that they seem to be absent.

// TestMovedKey moves entries to other keys between those around them, where a
// damaged key is found without its order giving it away. What was there is not
// taken to be absent.
func TestMovedKey(t *testing.T) {
	for i := range 2 {
		kind := kindOf(i)
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(workDir(t), "db")
			damaged(t, path, false, kind == store.Dense)
			p := prober{path: path + " damaged", file: mustRead(t, path)}
			if err := p.prepare(); err != nil {
				t.Fatal(err)
			}
			seed := time.Now().UnixNano()
			rng := rand.New(rand.NewPCG(uint64(seed), 0))
			for range alone(long(75, 5000)) {
				p.probeMoved(t, seed, rng)
			}
		})
	}
}

// probeMoved moves a key of the store and asks it.
func (p *prober) probeMoved(t *testing.T, seed int64, rng *rand.Rand) {
	t.Helper()
	if err := os.WriteFile(p.path, p.file, 0o600); err != nil {
		t.Fatal(err)
	}
	moved := moveKey(t, p.path, rng)
	opts := options(0)
	opts.ReadOnly = true
	db, err := store.Open(p.path, opts)
	if err != nil {
		if !isDamage(err) {
			t.Errorf("seed %d: %s: %v", seed, moved, err)
		}
		return
	}
	if found := wrong(ask(db, true), p.whole); len(found) > 0 {
		t.Errorf("seed %d: %s: %s", seed, moved, found[0])
	}
	_ = db.Close() // it may find the damage
}

// moveKey flips a bit in the key of an entry drawn from a store's buckets, so that
// the entry stays between the same two, and says which.
func moveKey(t testing.TB, path string, rng *rand.Rand) (moved string) {
	t.Helper()
	b, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	err = b.Update(func(tx *bolt.Tx) error {
		var inside []*bolt.Bucket
		var names []string
		var walk func(b *bolt.Bucket, name string) error
		walk = func(b *bolt.Bucket, name string) error {
			inside, names = append(inside, b), append(names, name)
			return b.ForEachBucket(func(k []byte) error { return walk(b.Bucket(k), fmt.Sprintf("%s %x", name, k)) })
		}
		if err := tx.ForEach(func(name []byte, b *bolt.Bucket) error { return walk(b, string(name)) }); err != nil {
			return err
		}
		for {
			i := rng.IntN(len(inside))
			if j := rng.IntN(len(inside)); strings.HasPrefix(names[j], "days") != strings.HasPrefix(names[i], "days") {
				i = j // most buckets are of days
			}
			var keys [][]byte
			err := inside[i].ForEach(func(k, _ []byte) error {
				keys = append(keys, slices.Clone(k))
				return nil
			})
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				continue
			}
			at := rng.IntN(len(keys))
			key, value := slices.Clone(keys[at]), slices.Clone(inside[i].Get(keys[at]))
			key[rng.IntN(len(key))] ^= 1 << rng.IntN(8)
			if value == nil || at > 0 && bytes.Compare(keys[at-1], key) >= 0 || at+1 < len(keys) && bytes.Compare(key, keys[at+1]) >= 0 {
				continue
			}
			moved = fmt.Sprintf("%s: key %x moved to %x", names[i], keys[at], key)
			return errors.Join(inside[i].Delete(keys[at]), inside[i].Put(key, value))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return moved
}

// TestHidden hides the last entries of leaves, in stores that were closed, by the counts
// in the heads of their pages: leaves of chunks are not looked at when such a store is
// opened.
func TestHidden(t *testing.T) {
	for _, kind := range []store.Positions{store.Hashed, store.Dense} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(workDir(t), "db")
			damaged(t, path, true, kind == store.Dense)
			p := prober{path: path + " damaged", file: mustRead(t, path)}
			if err := p.prepare(); err != nil {
				t.Fatal(err)
			}
			counts := leafCounts(p.file)
			seed := time.Now().UnixNano()
			rng := rand.New(rand.NewPCG(uint64(seed), 0))
			rng.Shuffle(len(counts), func(i, j int) { counts[i], counts[j] = counts[j], counts[i] })
			for _, c := range counts[:min(len(counts), alone(long(40, len(counts))))] {
				file := slices.Clone(p.file)
				binary.LittleEndian.PutUint16(file[c.at:], c.less)
				for _, q := range p.probe(file) {
					t.Errorf("seed %d: count at %d in page %d made %d: %s", seed, c.at%4096, c.at/4096, c.less, q)
				}
			}
		})
	}
}

// leafCount is a count in the head of a leaf's page, and a smaller one in its place.
type leafCount struct {
	at   int
	less uint16
}

// leafCounts lists what the counts of leaves become when a bit of them is lost.
func leafCounts(file []byte) (counts []leafCount) {
	for page := 2 * 4096; page < len(file); page += 4096 * (1 + int(binary.LittleEndian.Uint32(file[page+12:]))) {
		if binary.LittleEndian.Uint16(file[page+8:]) != 2 {
			continue
		}
		n := binary.LittleEndian.Uint16(file[page+10:])
		for rest := n; rest != 0; rest &= rest - 1 {
			counts = append(counts, leafCount{page + 10, n &^ (rest & -rest)})
		}
	}
	return counts
}
