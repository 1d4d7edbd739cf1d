package store

import (
	"bytes"
	"fmt"

	"cohort/placement"
	"cohort/store/internal/hll"

	bolt "go.etcd.io/bbolt"
)

// Page is something that is visited, by ids of one brand. A name that ids of two
// brands visit stands for two pages: brands are counted apart.
type Page struct {
	Name  string
	Brand placement.Brand

	number uint32
}

// Pages returns the pages of a name, one for each brand that has visited, in the
// order of the brands; none where nobody has.
func (s *Snapshot) Pages(name string) (pages []Page, err error) {
	err = s.do("page "+name, func() error {
		if err := CheckEvent(name); err != nil {
			return err
		}
		pages, err = s.pagesFrom(append([]byte(name), 0))
		return err
	})
	return pages, err
}

// AllPages lists every page in the order of the names' bytes, then the brands.
func (s *Snapshot) AllPages() (pages []Page, err error) {
	err = s.do("pages", func() error {
		pages, err = s.pagesFrom(nil)
		return err
	})
	return pages, err
}

// pagesFrom lists the pages whose keys begin with the prefix.
func (r *reader) pagesFrom(prefix []byte) (pages []Page, err error) {
	b := r.pages()
	if b == nil {
		return nil, nil
	}
	c := b.Cursor()
	k, _ := c.Seek(prefix)
	if before, v := previous(c, k); before != nil && !pageHolds(before, v) {
		return nil, corruptf("page %q: checksum does not hold", before)
	}
	for k, v := c.Seek(prefix); k != nil; k, v = c.Next() {
		// The one behind the prefix too: its name may be damaged.
		p, err := openPage(k, v)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(k, prefix) {
			break
		}
		pages = append(pages, p)
	}
	return pages, nil
}

func openPage(k, v []byte) (Page, error) {
	name, brand, ok := parsePageNameKey(k)
	n, sealed := unsealNumber(tagPage, k, v)
	if !ok || !sealed || n == 0 {
		return Page{}, corruptf("page %q: checksum does not hold", k)
	}
	return Page{name, brand, n}, nil
}

func pageHolds(k, v []byte) bool {
	_, err := openPage(k, v)
	return err == nil
}

// pageNumber returns the number of a page, or 0 where nobody has visited it.
func (r *reader) pageNumber(name string, b placement.Brand) (uint32, error) {
	key := pageNameKey(name, b)
	open := func() (uint32, error) {
		bucket := r.pages()
		if bucket == nil {
			return 0, nil
		}
		v, err := lookup(bucket, key, pageHolds)
		if v == nil || err != nil {
			return 0, err
		}
		p, err := openPage(key, v)
		return p.number, err
	}
	if r.opened == nil {
		return open()
	}
	return keep(&r.opened.pages, string(key), open)
}

// pageNames returns all pages by number.
func (r *reader) pageNames() (map[uint32]Page, error) {
	pages, err := r.pagesFrom(nil)
	names := make(map[uint32]Page, len(pages))
	for _, p := range pages {
		names[p.number] = p
	}
	if err == nil && len(names) != len(pages) {
		err = corruptf("two pages have one number")
	}
	return names, err
}

// pageName returns the name of a page for an error, or its number.
func (r *reader) pageName(number uint32) string {
	names, err := r.pageNames()
	if p, ok := names[number]; ok && err == nil {
		return fmt.Sprintf("%q", p.Name)
	}
	return fmt.Sprintf("number %d", number)
}

// bindPage returns the number of a page, which it gets where it has none.
func (w *writer) bindPage(name string, b placement.Brand) (uint32, error) {
	if n, err := w.pageNumber(name, b); n != 0 || err != nil {
		return n, err
	}
	if !w.tx.Writable() {
		return 0, errNewEvent
	}
	if err := w.createSketches(); err != nil {
		return 0, err
	}
	number, err := nextNumber(w.pages())
	if err == nil {
		key := pageNameKey(name, b)
		err = w.pages().Put(key, sealNumber(tagPage, key, number))
	}
	if err != nil {
		return 0, fmt.Errorf("page %q: %w", name, err)
	}
	w.named = true
	return number, nil
}

// createSketches makes the buckets of sketches where the store has none, and
// notes the precision, which is that of all of them from then on.
func (w *writer) createSketches() error {
	if w.pages() != nil {
		return nil
	}
	for _, name := range sketchBuckets {
		if _, err := w.tx.CreateBucket(name); err != nil {
			return fmt.Errorf("bucket %q: %w", name, err)
		}
	}
	return w.tx.Bucket(bucketMeta).Put(keySketches, sealNumber(tagPrecision, keySketches, uint32(w.precision)))
}

// readPrecision returns the precision of the store's sketches, 0 where it has
// none, and checks that their buckets are there.
func readPrecision(tx *bolt.Tx) (uint8, error) {
	v := tx.Bucket(bucketMeta).Get(keySketches)
	var p uint32
	if v != nil {
		var ok bool
		if p, ok = unsealNumber(tagPrecision, keySketches, v); !ok || p < hll.MinPrecision || p > hll.MaxPrecision {
			return 0, corruptf("the precision of sketches: checksum does not hold")
		}
	}
	for _, name := range sketchBuckets {
		if (tx.Bucket(name) != nil) != (v != nil) {
			return 0, corruptf("bucket %q is missing, or the precision of its sketches", name)
		}
	}
	return uint8(p), nil
}

// The buckets of sketches; nil before the first visit.
func (r *reader) pages() *bolt.Bucket      { return r.tx.Bucket(bucketPages) }
func (r *reader) sketchDays() *bolt.Bucket { return r.tx.Bucket(bucketSketchDays) }
func (r *reader) sketches() *bolt.Bucket   { return r.tx.Bucket(bucketSketches) }
func (r *reader) sites() *bolt.Bucket      { return r.tx.Bucket(bucketSites) }
