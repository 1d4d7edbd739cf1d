// Command peers asks the same questions of the same marks of this library, of
// Redis with flat bitmaps over dense numbers, of SQLite and of DuckDB, and times
// them in turn. It is a module of its own, because DuckDB needs cgo and none of
// the three is anything a program that embeds the library should fetch. SQLite and
// DuckDB take minutes to build, so they are part of it with the tag sql only.
//
// It prints one JSON document, which the benchmark command puts into its own;
// `go run ../ peers` does both.
package main
