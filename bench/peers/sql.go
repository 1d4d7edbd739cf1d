//go:build sql

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/duckdb/duckdb-go/v2"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// table is a database with one table of marks: event, day and person, all
// numbers.
type table struct {
	db     *sql.DB
	path   string
	people int
	duck   bool
	marks  sync.Mutex // SQLite has one writer
	insert *sql.Stmt
}

// addDatabases adds SQLite and DuckDB to the sides.
func (c *comparison) addDatabases() {
	c.add(entry{"SQLite", c.w, func(ctx context.Context, path string) (side, error) { return openSQLite(ctx, path, c.w) }})
	c.add(entry{"DuckDB", c.w, func(ctx context.Context, path string) (side, error) { return openDuckDB(ctx, path, c.w) }})
}

func openSQLite(ctx context.Context, path string, w *workload) (*table, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=cache_size(-500000)&_pragma=mmap_size(4294967296)")
	if err != nil {
		return nil, err
	}
	t := &table{db: db, path: path, people: w.people}
	return t, t.create(ctx, "CREATE TABLE marks (event INTEGER, day INTEGER, person INTEGER, PRIMARY KEY (event, day, person)) WITHOUT ROWID",
		"CREATE INDEX of_person ON marks (person, event, day)")
}

func openDuckDB(ctx context.Context, path string, w *workload) (*table, error) {
	db, err := sql.Open("duckdb", path)
	if err != nil {
		return nil, err
	}
	t := &table{db: db, path: path, people: w.people, duck: true}
	return t, t.create(ctx, "CREATE TABLE marks (event UTINYINT, day USMALLINT, person UINTEGER)")
}

func (t *table) create(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := t.db.ExecContext(ctx, s); err != nil {
			return errors.Join(err, t.close())
		}
	}
	var err error
	t.insert, err = t.db.PrepareContext(ctx, "INSERT INTO marks VALUES (?, ?, ?)")
	return err
}

func (t *table) load(ctx context.Context, w *workload) error {
	if t.duck {
		return t.append(ctx, w)
	}
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	insert := tx.StmtContext(ctx, t.insert)
	err = w.each(func(e, d, person int) error {
		_, err := insert.ExecContext(ctx, e, d, person)
		return err
	})
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// append loads by DuckDB's Appender, its quickest way in.
func (t *table) append(ctx context.Context, w *workload) (err error) {
	conn, err := t.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return conn.Raw(func(c any) error {
		a, err := duckdb.NewAppenderFromConn(c.(driver.Conn), "", "marks")
		if err != nil {
			return err
		}
		err = w.each(func(e, d, person int) error { return a.AppendRow(uint8(e), uint16(d), uint32(person)) })
		return errors.Join(err, a.Close())
	})
}

func (t *table) ask(ctx context.Context, q question) ([]uint64, error) {
	switch q {
	case dayCount:
		return t.figures(ctx, fmt.Sprintf("SELECT count(*) FROM marks WHERE event = 0 AND day = %d", days-1))
	case union7:
		return t.figures(ctx, fmt.Sprintf("SELECT count(DISTINCT person) FROM marks WHERE event = 0 AND day BETWEEN %d AND %d", days-7, days-1))
	case union30:
		return t.figures(ctx, fmt.Sprintf("SELECT count(DISTINCT person) FROM marks WHERE event = 0 AND day BETWEEN 0 AND %d", days-1))
	case retention7:
		return t.figures(ctx, `SELECT count(*) FROM marks WHERE event = 0 AND day = 0 UNION ALL
			SELECT count(*) FROM marks a JOIN marks b ON b.person = a.person AND b.event = 0 AND b.day = 7 WHERE a.event = 0 AND a.day = 0`)
	case triangle:
		return t.triangle(ctx)
	case dayFunnel:
		return t.funnel(ctx, fmt.Sprintf("day = %d", days-1))
	case monthFunnel:
		return t.funnel(ctx, fmt.Sprintf("day < %d", days))
	}
	return t.figures(ctx, fmt.Sprintf("SELECT day FROM marks WHERE person = %d AND event = 0 AND day < %d ORDER BY day", someone%t.people, days))
}

// funnel makes of each person a mask of the events done.
func (t *table) funnel(ctx context.Context, when string) ([]uint64, error) {
	var steps []string
	for e := range events {
		steps = append(steps, fmt.Sprintf("sum(CASE WHEN done & %[1]d = %[1]d THEN 1 ELSE 0 END)", 1<<(e+1)-1))
	}
	done := "sum(DISTINCT 1 << event)"
	if t.duck {
		done = "bit_or(1 << event::INTEGER)"
		for i := range steps {
			steps[i] += "::BIGINT"
		}
	}
	rows, err := t.db.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM (SELECT person, %s AS done FROM marks WHERE %s GROUP BY person)", strings.Join(steps, ", "), done, when))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	reached := make([]uint64, len(events))
	for rows.Next() {
		if err := rows.Scan(&reached[0], &reached[1], &reached[2]); err != nil {
			return nil, err
		}
	}
	return reached, rows.Err()
}

// triangle counts by first day and day; pairs of days without anyone have no row.
func (t *table) triangle(ctx context.Context) ([]uint64, error) {
	rows, err := t.db.QueryContext(ctx, fmt.Sprintf(`WITH first AS (SELECT person, min(day) AS day FROM marks WHERE event = 0 AND day < %[1]d GROUP BY person)
		SELECT f.day, m.day, count(*) FROM first f JOIN marks m ON m.person = f.person AND m.event = 0 AND m.day < %[1]d GROUP BY f.day, m.day`, days))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var counts [days][days]uint64
	for rows.Next() {
		var cohort, back int
		var n uint64
		if err := rows.Scan(&cohort, &back, &n); err != nil {
			return nil, err
		}
		counts[cohort][back] = n
	}
	var cells []uint64
	for d := range days {
		cells = append(cells, counts[d][d:]...)
	}
	return cells, rows.Err()
}

// figures returns the one column that a query has.
func (t *table) figures(ctx context.Context, query string) (all []uint64, err error) {
	rows, err := t.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n uint64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}

func (t *table) mark(ctx context.Context, person int) error {
	t.marks.Lock()
	defer t.marks.Unlock()
	_, err := t.insert.ExecContext(ctx, 0, days, person)
	return err
}

// marksDurably is false of DuckDB, which is not made for it.
func (t *table) marksDurably() bool { return !t.duck }

// bytes is the size of the file, all in it.
func (t *table) bytes() (int64, error) {
	checkpoint := "PRAGMA wal_checkpoint(TRUNCATE)"
	if t.duck {
		checkpoint = "CHECKPOINT"
	}
	if _, err := t.db.Exec(checkpoint); err != nil {
		return 0, err
	}
	info, err := os.Stat(t.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (t *table) close() error { return t.db.Close() }
