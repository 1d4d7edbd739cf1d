package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

var peersSection = section{
	name:  "peers",
	title: "the same marks in Redis, SQLite and DuckDB",
	about: "30 days of three events over a million people, branded ids here, numbers from 0 elsewhere. " +
		"Redis 7 on a socket has a bitmap for each event and day over these numbers, written by pipelined SETBIT, asked by one transaction of BITOP and BITCOUNT a question; its times are the client's. " +
		"SQLite (modernc.org/sqlite) has a table keyed by event, day and person, an index by person, a write-ahead log and full syncs; DuckDB a table filled by its Appender. " +
		"Imports do different work: the library parses the ids, registers each, and keeps a mark once, SQLite keeps it once, and the Appender takes numbers for a table without a key; all are committed and synced when the clock stops, Redis apart, which writes nothing. " +
		"Imports run in rounds, in turn, each into a new store, as do durable marks: nine where questions have five. A side whose first import took 5 s or more has that one only. " +
		"All answers were the same and right. Nothing is marked between questions, so that the library finds what the one before looked up: the days of an event, and where their chunks lie. For durable marks Redis appends to a log and syncs it with every write. " +
		"Bytes are those of the closed marks: of the file, and in Redis of the keys in memory.",
	run: runPeers,
}

// peersResult is what the command in bench/peers prints.
type peersResult struct {
	Sides     []string
	Marks     int
	Load      []samples
	Bytes     []int64
	Questions []struct {
		Name   string
		Millis []samples
	}
	Durable []struct {
		Callers int
		Rates   []samples
	}
	Notes []string
}

func runPeers(ctx context.Context, b *bench, r *result) error {
	if b.people == 0 {
		r.note("Not part of a small run: it builds DuckDB.")
		return nil
	}
	folder, err := peersFolder()
	if err != nil {
		return err
	}
	binary := b.path("peers")
	build := exec.CommandContext(ctx, "go", "build", "-C", folder, "-tags", "sql", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	b.logf("built")
	var p peersResult
	_, err = watch(exec.CommandContext(ctx, binary, "-people", strconv.Itoa(b.people), "-rounds", strconv.Itoa(b.rounds),
		"-seed", strconv.FormatUint(b.seed, 10), "-dir", b.dir), &p)
	if err != nil {
		return err
	}
	return p.report(r)
}

// peersFolder finds the command's module from the repository's root or from here.
func peersFolder() (string, error) {
	for _, folder := range []string{"bench/peers", "peers"} {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return filepath.Abs(folder)
		}
	}
	return "", errors.New("bench/peers is not here: run it from the repository's root")
}

// report makes tables and goals of what was measured.
func (p *peersResult) report(r *result) error {
	if len(p.Load) != len(p.Sides) || len(p.Bytes) != len(p.Sides) {
		return errors.New("the peers' result does not hold together")
	}
	dense, flat, duck := p.side("cohort, dense"), p.side("Redis, flat bitmaps"), p.side("DuckDB")
	t := r.table("side", "import, s", "marks/s", "bytes", "bytes/mark")
	for i, name := range p.Sides {
		t.row(name, p.Load[i], float64(p.Marks)/p.Load[i].median(), p.Bytes[i], float64(p.Bytes[i])/float64(p.Marks))
	}
	columns := []string{"question, ms"}
	columns = append(columns, p.Sides...)
	if flat >= 0 {
		columns = append(columns, "Redis over dense")
	}
	t = r.table(columns...)
	least := 0.0
	for _, q := range p.Questions {
		row := []any{q.Name}
		for _, s := range q.Millis {
			row = append(row, s.median())
		}
		if flat >= 0 {
			ratio := q.Millis[flat].over(q.Millis[dense])
			row = append(row, ratio)
			if m := ratio.median(); least == 0 || m < least {
				least = m
			}
		}
		t.row(row...)
	}
	t = r.table(append([]string{"durable marks/s"}, p.Sides...)...)
	for _, d := range p.Durable {
		row := []any{fmt.Sprintf("%d callers", d.Callers)}
		for _, s := range d.Rates {
			if s == nil {
				row = append(row, nil)
				continue
			}
			row = append(row, s)
		}
		t.row(row...)
	}
	if duck >= 0 {
		r.atLeast("import, dense, times DuckDB's Appender", p.Load[duck].over(p.Load[dense]).median(), 1.3, "×")
	}
	if flat >= 0 {
		r.atLeast("every question, dense, times as fast as Redis", least, 1, "×")
		many := p.Durable[len(p.Durable)-1]
		r.atLeast("50 callers, dense, times Redis that syncs always", many.Rates[dense].over(many.Rates[flat]).median(), 3, "×")
	}
	r.notes = append(r.notes, p.Notes...)
	return nil
}

func (p *peersResult) side(name string) int {
	for i, s := range p.Sides {
		if s == name {
			return i
		}
	}
	return -1
}
