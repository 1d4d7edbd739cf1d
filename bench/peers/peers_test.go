package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestSmall compares all sides that are built in on a small workload: an answer that is wrong fails it,
// no time does.
func TestSmall(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-people", "6000", "-rounds", "1", "-dir", dir}, &out); err != nil {
		t.Fatal(err)
	}
	var got result
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if n := len(got.Sides); n < 2 || len(got.Load) != n || len(got.Bytes) != n || len(got.Questions) == 0 || got.Marks == 0 {
		t.Errorf("got %+v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
