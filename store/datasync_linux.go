package store

import (
	"errors"
	"os"
	"syscall"
)

// datasync returns when what was written to the file is on disk, with its size.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
