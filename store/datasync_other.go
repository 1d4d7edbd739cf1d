//go:build !linux

package store

import "os"

// datasync returns when what was written to the file is on disk, with its size.
func datasync(f *os.File) error { return f.Sync() }
