package store

import (
	"errors"
	"strconv"
	"syscall"
)

// isReadOnlyFS reports whether a file could not be opened for writing because
// of the file system it is on.
func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }

// mapSize is how much address space bbolt reserves for the file. A file that
// outgrows its map must wait until no snapshot is open, and blocks new ones
// meanwhile (1.2 s were seen); a goroutine that marks while it holds a snapshot
// would wait for itself. Address space costs nothing, so reserve what a store
// will hardly outgrow while it is open.
func mapSize(file int64) int {
	if strconv.IntSize < 64 {
		return 0
	}
	return int(max(64<<30, 4*file))
}
