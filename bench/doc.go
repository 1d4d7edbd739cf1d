// Command bench measures the store and checks what it measures: every figure
// comes from a seeded workload whose answers were worked out without the store,
// and a section whose answers differ fails instead of reporting.
//
//	go run ./bench                       every section, at the middle size
//	go run ./bench marks open            two of them
//	go run ./bench -size full -o docs/benchmarks.md the goals' sizes, into a file as well
//	go run ./bench -size small           all of it in seconds, to see that it works
//
// What is compared runs in turn, A B A B, five rounds, on one machine in one
// run, and is reported as the median of the rounds' ratios: times alone say
// little on a machine that is not at rest. bench/README.md says what each
// section does.
package main
