package store

import (
	"fmt"
	"io"
)

// WriteTo writes a copy of the store as it is in the snapshot: a whole file that
// Open takes, with what is not yet folded. It implements io.WriterTo. The copy is
// as long as the store's file at the time, its unused pages included, and memory
// does not depend on that. Marks go on meanwhile, but the file grows (see
// Snapshot). What was written to w when it fails is of no use.
func (s *Snapshot) WriteTo(w io.Writer) (n int64, err error) {
	err = s.do("copy", func() error {
		var err error
		if n, err = s.tx.WriteTo(w); err != nil {
			return fmt.Errorf("after %d bytes: %w", n, err)
		}
		return nil
	})
	return n, err
}
