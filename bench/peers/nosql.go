//go:build !sql

package main

// addDatabases leaves out SQLite and DuckDB, which take minutes to build.
func (c *comparison) addDatabases() {
	c.result.Notes = append(c.result.Notes, "Without SQLite and DuckDB: built without the tag sql.")
}
