package redisbits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"cohort/store"

	"github.com/redis/go-redis/v9"
)

// MaxKeys is the largest number of keys that [Server.List] holds: 100 to 200
// bytes each.
const MaxKeys = 1 << 20

// ErrManyKeys: more than [MaxKeys] keys match.
var ErrManyKeys = errors.New("too many keys match")

// scanCount is how many keys the server looks at in one step of a scan: about a
// quarter of a millisecond's work.
const scanCount = 1000

// Key is a bitmap to import.
type Key struct {
	Name  string
	Event string
	Day   store.Day
	Size  int64 // bytes of the value when it was listed
}

// Skipped is a key that is not imported.
type Skipped struct {
	Name   string
	Reason Reason
}

// Listing is what keys there are.
type Listing struct {
	Keys    []Key     // by event, day and name
	Skipped []Skipped // by name
	Size    int64     // bytes of all values
}

// List finds the keys of a layout, by SCAN. Those found are the ones that match
// the pattern of Redis, or where it is empty the layout's own. A key that
// matches and is not to be imported is listed with the reason. Keys made or
// deleted meanwhile may be missing or listed. For each of the layout's patterns it
// takes a round trip for each thousand keys of the database, and one more for each
// thousand that match.
func (s *Server) List(ctx context.Context, l *Layout, pattern string) (Listing, error) {
	patterns := l.patterns
	if pattern != "" {
		patterns = []string{pattern}
	}
	var list Listing
	for _, pattern := range patterns {
		if err := s.scan(ctx, l, pattern, &list); err != nil {
			return Listing{}, err
		}
	}
	list.sort()
	for _, k := range list.Keys {
		list.Size += k.Size
	}
	return list, nil
}

// scan adds the keys that match a pattern.
func (s *Server) scan(ctx context.Context, l *Layout, pattern string, list *Listing) error {
	for cursor := uint64(0); ; {
		var names []string
		err := s.do(ctx, func() (err error) {
			names, cursor, err = s.client.Scan(ctx, cursor, pattern, scanCount).Result()
			return err
		})
		if err != nil {
			return err
		}
		if err := s.add(ctx, l, names, list); err != nil {
			return err
		}
		if len(list.Keys)+len(list.Skipped) > MaxKeys {
			list.sort() // a scan may give a key twice
			if len(list.Keys)+len(list.Skipped) > MaxKeys {
				return fmt.Errorf("%s: %w %s: more than %d", s.name, ErrManyKeys, pattern, MaxKeys)
			}
		}
		if cursor == 0 {
			return nil
		}
	}
}

// add lists some keys, with the sizes of those to import. STRLEN tells at once
// whether a value is a string, and how long: so no TYPE is asked of SCAN, which
// would leave out the others unnamed.
func (s *Server) add(ctx context.Context, l *Layout, names []string, list *Listing) error {
	var keys []Key
	for _, name := range names {
		event, day, why := l.Key(name)
		if why != "" {
			list.Skipped = append(list.Skipped, Skipped{name, why})
			continue
		}
		keys = append(keys, Key{Name: name, Event: event, Day: day})
	}
	if len(keys) == 0 {
		return nil
	}
	sizes := make([]*redis.IntCmd, len(keys))
	err := s.do(ctx, func() error {
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, k := range keys {
				sizes[i] = p.StrLen(ctx, k.Name)
			}
			return nil
		})
		if isWrongType(err) {
			return nil // of one command; the others' are looked at below
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, k := range keys {
		k.Size, err = sizes[i].Result()
		switch {
		case isWrongType(err):
			list.Skipped = append(list.Skipped, Skipped{k.Name, NotString})
		case err != nil:
			return s.explain(err)
		case k.Size == 0:
			list.Skipped = append(list.Skipped, Skipped{k.Name, Vanished})
		default:
			list.Keys = append(list.Keys, k)
		}
	}
	return nil
}

// isWrongType reports whether a command was for another type of value.
func isWrongType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE") }

// sort orders the keys, each once. The loader sorts its rows by day: keys of one
// event and day stand together, and neighbouring days of one event fill a batch.
func (l *Listing) sort() {
	slices.SortFunc(l.Keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.Day, b.Day), cmp.Compare(a.Name, b.Name))
	})
	l.Keys = slices.CompactFunc(l.Keys, func(a, b Key) bool { return a.Name == b.Name })
	slices.SortFunc(l.Skipped, func(a, b Skipped) int { return cmp.Compare(a.Name, b.Name) })
	l.Skipped = slices.CompactFunc(l.Skipped, func(a, b Skipped) bool { return a.Name == b.Name })
}
