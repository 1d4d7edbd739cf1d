package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ioCounters are what a process has read and written so far, from
// /proc/self/io.
type ioCounters struct {
	written    int64 // write_bytes: pages made dirty, which the kernel must write
	handedOver int64 // wchar: bytes given to write calls
	fetched    int64 // read_bytes: bytes that came from the disk
}

func readIO() (c ioCounters, err error) {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return c, fmt.Errorf("count written bytes: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return c, fmt.Errorf("/proc/self/io: %q is no counter", line)
		}
		switch key {
		case "write_bytes":
			c.written = n
		case "wchar":
			c.handedOver = n
		case "read_bytes":
			c.fetched = n
		}
	}
	return c, nil
}

func (c ioCounters) since(before ioCounters) ioCounters {
	return ioCounters{c.written - before.written, c.handedOver - before.handedOver, c.fetched - before.fetched}
}

// countIO returns what the process reads and writes while fn runs.
func countIO(fn func() error) (ioCounters, error) {
	before, err := readIO()
	if err != nil {
		return ioCounters{}, err
	}
	if err := fn(); err != nil {
		return ioCounters{}, err
	}
	after, err := readIO()
	return after.since(before), err
}

// rssAnon returns the anonymous memory of a process, in bytes: its heap and
// stacks, without the pages of files it has mapped. pid may be "self".
func rssAnon(pid string) (int64, error) { return resident(pid, "RssAnon") }

// rssFile returns the pages of files that a process has mapped and that are in
// memory, in bytes.
func rssFile(pid string) (int64, error) { return resident(pid, "RssFile") }

func resident(pid, what string) (int64, error) {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, fmt.Errorf("measure memory: %w", err)
	}
	kb, ok := strings.CutSuffix(field(strings.NewReader(string(b)), what), " kB")
	n, err := strconv.ParseInt(kb, 10, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("/proc/%s/status has no %s", pid, what) // a process that has ended
	}
	return n << 10, nil
}
