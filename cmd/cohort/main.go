// Command cohort keeps marks in a store, one bitmap per event and day, and asks
// questions of it. Run "cohort help" for what it can do.
package main

import (
	"os"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, time.Now))
}
