//go:build race

package main

// raceEnabled: the race detector takes much memory, and time.
const raceEnabled = true
