//go:build race

package main

// raceEnabled: the race detector takes much memory.
const raceEnabled = true
