package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"cohort/store"

	"github.com/klauspost/compress/zstd"
)

var formatsSection = section{
	name:  "formats",
	title: "the same log as CSV, compressed, and as JSON lines",
	about: "The log of the import section, as CSV, as CSV in gzip and in zstd (both at their default levels), and as JSON lines. " +
		"The command runs as a process of its own. Beside it stands a plain reader of the same file in one goroutine, which does nothing with the rows: " +
		"encoding/csv (ReuseRecord), before it compress/gzip or klauspost's zstd; for JSON bufio.Scanner and json.Unmarshal into a struct of three strings. " +
		"The figures of every import, and its count of every event and day, are checked.",
	run: runFormats,
}

// formatRun is one form of the file, and how long it took.
type formatRun struct {
	name  string
	plain string // the plain reader
	write func(from, to string) error
	read  func(file string, took *samples) error

	file    string
	bytes   int64
	reading samples
	command importRun
}

func runFormats(ctx context.Context, b *bench, r *result) error {
	rows := b.path("rows.csv")
	of := brandedIDs(b.seed)
	if err := writeRows(rows, fileRows(b.seed, b.rows, b.ids), of); err != nil {
		return err
	}
	want, err := importOracle(fileRows(b.seed, b.rows, b.ids), of, store.Hashed)
	if err != nil {
		return err
	}
	binary, err := buildCommand(ctx, b.path("cohort"))
	if err != nil {
		return err
	}
	forms := b.forms()
	for _, f := range forms {
		if f.file = rows; f.write != nil {
			f.file = b.path("rows." + f.name)
			if err := f.write(rows, f.file); err != nil {
				return err
			}
		}
		info, err := os.Stat(f.file)
		if err != nil {
			return err
		}
		f.bytes = info.Size()
	}
	b.logf("%d rows written %d times, and worked out", b.rows, len(forms))
	var sides []func(int) error
	for _, f := range forms {
		sides = append(sides,
			func(int) error { return f.read(f.file, &f.reading) },
			func(int) error {
				path := b.path("formats.db")
				if err := b.importOnce(commandImport(ctx, binary, path, f.file), &f.command, want.tally); err != nil {
					return err
				}
				return errors.Join(checkImported(ctx, path, want), os.Remove(path))
			})
	}
	if err := b.interleave(ctx, sides...); err != nil {
		return err
	}
	t := r.table("format", "MB", "plain reader", "its seconds", "cohort import", "rows/s", "times the reader", "peak RssAnon MB")
	for _, f := range forms {
		t.row(f.name, float64(f.bytes)/1e6, f.plain, f.reading, f.command.seconds, float64(b.rows)/f.command.seconds.median(),
			f.command.seconds.over(f.reading), float64(f.command.peak)/1e6)
	}
	return nil
}

// forms lists the forms of the file.
func (b *bench) forms() []*formatRun {
	readCSVFrom := func(open func(io.Reader) (io.Reader, error)) func(string, *samples) error {
		return func(file string, took *samples) error { return readTimed(file, b.rows, took, open, countCSV) }
	}
	plain := func(r io.Reader) (io.Reader, error) { return r, nil }
	return []*formatRun{
		{name: "csv", plain: "csv", read: readCSVFrom(plain)},
		{
			name: "csv.gz", plain: "gzip, csv",
			write: compressor(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }),
			read:  readCSVFrom(func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }),
		},
		{
			name: "csv.zst", plain: "zstd, csv",
			write: compressor(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }),
			read: readCSVFrom(func(r io.Reader) (io.Reader, error) {
				return zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
			}),
		},
		{
			name: "jsonl", plain: "lines, json", write: writeJSONLines,
			read: func(file string, took *samples) error { return readTimed(file, b.rows, took, plain, countJSON) },
		},
	}
}

// readTimed reads a file through open and counts its rows.
func readTimed(file string, rows int, took *samples, open func(io.Reader) (io.Reader, error), count func(io.Reader) (int, error)) (err error) {
	start := time.Now()
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := open(bufio.NewReaderSize(f, 64<<10))
	if err != nil {
		return err
	}
	n, err := count(text)
	took.add(time.Since(start).Seconds())
	if err != nil {
		return err
	}
	return checkf(n, rows, "rows of the file")
}

// countCSV counts records after the header.
func countCSV(text io.Reader) (int, error) {
	r := csv.NewReader(text)
	r.ReuseRecord = true
	for n := -1; ; n++ {
		if _, err := r.Read(); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// jsonRow is a row as JSON.
type jsonRow struct {
	Time  string `json:"time"`
	ID    string `json:"id"`
	Event string `json:"event"`
}

// countJSON counts objects, one a line.
func countJSON(text io.Reader) (n int, err error) {
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		var row jsonRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return n, err
		}
		n++
	}
	return n, lines.Err()
}

// compressor returns a function that copies a file compressed.
func compressor(to func(io.Writer) (io.WriteCloser, error)) func(from, file string) error {
	return func(from, file string) error {
		return rewriteFile(from, file, func(r io.Reader, w io.Writer) error {
			packed, err := to(w)
			if err != nil {
				return err
			}
			_, err = io.Copy(packed, r)
			return errors.Join(err, packed.Close())
		})
	}
}

// writeJSONLines copies a file of CSV as JSON lines.
func writeJSONLines(from, file string) error {
	return rewriteFile(from, file, func(r io.Reader, w io.Writer) error {
		records := csv.NewReader(r)
		records.ReuseRecord = true
		for n := 0; ; n++ {
			record, err := records.Read()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if _, err := fmt.Fprintf(w, "{\"time\":%q,\"id\":%q,\"event\":%q}\n", record[0], record[1], record[2]); err != nil {
				return err
			}
		}
	})
}

// rewriteFile makes one file of another.
func rewriteFile(from, to string, fn func(io.Reader, io.Writer) error) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := bufio.NewWriterSize(out, 1<<20)
	if err := fn(in, w); err != nil {
		return err
	}
	return errors.Join(w.Flush(), out.Sync())
}
