//go:build race

package store_test

// raceEnabled: the race detector makes a test five times as slow.
const raceEnabled = true
