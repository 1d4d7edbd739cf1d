//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package store

import "os"

// abandon closes a file that bbolt has left behind.
func abandon(f *os.File) { _ = f.Close() } // there is nothing else to do
