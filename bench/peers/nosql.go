//go:build !sql

package main

import "context"

// openDatabases leaves out SQLite and DuckDB, which take minutes to build.
func (c *comparison) openDatabases(context.Context) error {
	c.result.Notes = append(c.result.Notes, "Without SQLite and DuckDB: built without the tag sql.")
	return nil
}
