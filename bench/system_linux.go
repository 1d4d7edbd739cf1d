package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fileSystem names the file system of a directory. On tmpfs a sync costs
// nothing, and no figure of marks means anything.
func fileSystem(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "unknown"
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlayfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs (not a disk: syncs are free)"
	}
	return fmt.Sprintf("%#x", st.Type)
}

// evict drops a file's pages from the page cache. They must be on disk, and the
// file mapped by nobody.
func evict(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
}

// diskWritten returns how many bytes the device that a directory is on was ever
// given to write, by all processes and by the file system itself. Where the
// file system is not on a device of its own the error is os.ErrNotExist.
func diskWritten(dir string) (int64, error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return 0, err
	}
	b, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		return 0, err
	}
	const sectorsWritten, sectorSize = 6, 512 // see Documentation/block/stat.rst
	fields := strings.Fields(string(b))
	if len(fields) <= sectorsWritten {
		return 0, fmt.Errorf("the statistics of the disk have %d fields", len(fields))
	}
	n, err := strconv.ParseInt(fields[sectorsWritten], 10, 64)
	return n * sectorSize, err
}
