package store

import (
	"errors"
	"io"
	"os"
)

// SetBatch makes a loader commit after so many rows.
func (l *Loader) SetBatch(rows int) { l.batch = rows }

// CopyFile copies the file as it stands at one commit, as a machine that stops
// there would leave it. No commit runs meanwhile.
func (db *DB) CopyFile(to string) (err error) {
	tx, err := db.bolt.Begin(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	src, err := os.Open(db.cfg.Path)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// Commits returns the number of the last commit.
func (db *DB) Commits() int { return db.view.Load().txid }

// Unfolded returns how many operations and journal records are not folded.
func (db *DB) Unfolded() (ops, records int) {
	v := db.view.Load()
	return v.ops, v.records
}

// UsedPages returns how many pages of the file its newest head uses, and their
// size.
func UsedPages(path string) (pages, size int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	m, err := readHead(f)
	return int(m.used), m.pageSize, err
}
