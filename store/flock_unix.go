//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"os"
	"syscall"
)

// abandon closes a file that bbolt has left behind, with its lock. Closing alone
// does not end the lock: the memory map keeps the open file alive.
func abandon(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // there is nothing else to do
	_ = f.Close()                                   // as above
}
