package query_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cohort/query"
	"cohort/store"

	bolt "go.etcd.io/bbolt"
)

// TestMovedKey asks random stores, of which a key was damaged so that it stands between
// the same two others as before, what they answered when they were whole. A question
// that misses what is there finds the damage, whatever list it went by.
func TestMovedKey(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	for i := range uint64(4 + *randomStores/10) {
		t.Run(fmt.Sprintf("seed=%d", seed+i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed+i)
			w.grow(t)
			w.save(t)
			w.must(t, errors.Join(w.db.Fold(t.Context()), w.db.Remember(t.Context())))
			w.grow(t)
			questions := w.questions(t)
			var whole []string
			for _, ask := range questions {
				answer, err := ask(w.db)
				w.must(t, err)
				whole = append(whole, answer)
			}
			w.must(t, w.db.Close())
			file, err := os.ReadFile(w.path)
			w.must(t, err)
			for range 25 {
				w.askMoved(t, file, questions, whole)
			}
			w.open(t) // to be closed
		})
	}
}

// askMoved moves a key of a copy of a store, and asks it.
func (w *world) askMoved(t *testing.T, file []byte, questions []func(query.Source) (string, error), whole []string) {
	t.Helper()
	path := filepath.Join(filepath.Dir(w.path), "moved.db")
	w.must(t, os.WriteFile(path, file, 0o600))
	moved := moveKey(t, path, w.rng)
	db, err := store.Open(path, &store.Options{ReadOnly: true, Now: w.late})
	if err != nil {
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", moved, err)
		}
		return
	}
	for i, ask := range questions {
		if got, err := ask(db); err == nil && got != whole[i] {
			t.Errorf("%s: question %d: %s, want %s", moved, i, got, whole[i])
		} else if err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: question %d: %v", moved, i, err)
		}
	}
	_ = db.Close() // it may find the damage
}

// questions are random questions of every kind that reads chunks.
func (w *world) questions(t *testing.T) (all []func(query.Source) (string, error)) {
	add := func(ask func(query.Source) (any, error)) {
		all = append(all, func(src query.Source) (string, error) {
			answer, err := ask(src)
			if err != nil {
				return "", err
			}
			text, err := json.Marshal(answer)
			return string(text), err
		})
	}
	ctx := t.Context()
	for range 6 {
		b := w.anyBrand()
		x, y := w.expr(b, w.rng.IntN(4)).Expr, w.expr(b, 1).Expr
		scope := query.Scope{Except: []query.Expr{y}}
		add(func(src query.Source) (any, error) { return query.Size(ctx, src, x, query.In(scope)) })
		add(func(src query.Source) (any, error) {
			set, err := query.Bitmap(ctx, src, x)
			if err != nil {
				return nil, err
			}
			return set.ToArray(), nil
		})
		steps := []query.Step{query.SetStep(x), query.SetStep(y)}
		add(func(src query.Source) (any, error) { return query.Funnel(ctx, src, steps, query.FunnelOptions{}) })
		event, other := w.event(b), w.event(b)
		add(func(src query.Source) (any, error) {
			return query.Funnel(ctx, src, []query.Step{query.EventStep(event), query.EventStep(other)}, query.FunnelOptions{Order: query.Strict, Scope: scope})
		})
		by := everyBy[w.rng.IntN(len(everyBy))]
		add(func(src query.Source) (any, error) {
			return query.Active(ctx, src, event, query.ActiveOptions{By: by, Scope: scope})
		})
		add(func(src query.Source) (any, error) {
			return query.Lifecycle(ctx, src, event, query.LifecycleOptions{By: by, Scope: scope})
		})
		add(func(src query.Source) (any, error) {
			return query.Retention(ctx, src, event, query.RetentionOptions{Return: other, By: by, Scope: scope, Cohort: query.CohortFirst})
		})
		add(func(src query.Source) (any, error) {
			return query.Longest(ctx, src, event, query.All(), query.In(scope))
		})
		add(func(src query.Source) (any, error) { return query.Streaking(ctx, src, event, 2, query.In(scope)) })
		field, _ := w.fieldOf(b)
		add(func(src query.Source) (any, error) { return query.SumField(ctx, src, field, x) })
		add(func(src query.Source) (any, error) { return query.Values(ctx, src, field, nil, query.In(scope)) })
		add(func(src query.Source) (any, error) { return query.TopIDs(ctx, src, field, y, 3) })
	}
	return all
}

// moveKey flips a bit in a key of a store so that the entry stays between the same
// two, and says which.
func moveKey(t *testing.T, path string, rng *rand.Rand) (moved string) {
	t.Helper()
	b, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	err = b.Update(func(tx *bolt.Tx) error {
		var buckets []*bolt.Bucket
		err := tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
			buckets = append(buckets, b)
			return b.ForEachBucket(func(k []byte) error {
				buckets = append(buckets, b.Bucket(k))
				return nil
			})
		})
		if err != nil {
			return err
		}
		for {
			in := buckets[rng.IntN(len(buckets))]
			var keys [][]byte
			if err := in.ForEach(func(k, _ []byte) error { keys = append(keys, slices.Clone(k)); return nil }); err != nil {
				return err
			}
			if len(keys) == 0 {
				continue
			}
			at := rng.IntN(len(keys))
			key, value := slices.Clone(keys[at]), slices.Clone(in.Get(keys[at]))
			key[rng.IntN(len(key))] ^= 1 << rng.IntN(8)
			if value == nil || at > 0 && bytes.Compare(keys[at-1], key) >= 0 || at+1 < len(keys) && bytes.Compare(key, keys[at+1]) >= 0 {
				continue
			}
			moved = fmt.Sprintf("key %x moved to %x", keys[at], key)
			return errors.Join(in.Delete(keys[at]), in.Put(key, value))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return moved
}
