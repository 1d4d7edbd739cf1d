package ingest_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"cohort/cmd/cohort/internal/ingest"
)

var named = ingest.Columns{ID: "id", Event: "event", Time: "time"}

// one yields one file.
func one(f *ingest.File) iter.Seq2[*ingest.File, error] {
	return func(yield func(*ingest.File, error) bool) { yield(f, nil) }
}

// batches reads a file with a number of parsers.
func batches(t testing.TB, f *ingest.File, parsers int) iter.Seq2[*ingest.Batch, error] {
	reading := ingest.Reading{Parsers: parsers, KeepText: true, Days: func() *ingest.DayParser { return parser(t, "auto", "UTC") }}
	return reading.Batches(t.Context(), one(f))
}

// rows writes each row as LINE id|event|time, one that cannot be taken apart as
// LINE !why "text", and what ended the file, unless that is its end.
func rows(t testing.TB, format, text string, cols ingest.Columns) string {
	t.Helper()
	f, err := ingest.Open("file", format, strings.NewReader(text), cols)
	if err != nil {
		return "open: " + err.Error()
	}
	defer f.Close()
	var out []string
	for b, err := range batches(t, f, 2) {
		if err != nil {
			out = append(out, strings.TrimPrefix(err.Error(), "file: "))
			break
		}
		for i, m := range b.Marks {
			row, text := rowOf(b, i)
			if m.Refused != nil && m.Refused.Reason == ingest.BadRow {
				out = append(out, fmt.Sprintf("%d !%s %q", m.Line, m.Refused.Why, text))
			} else {
				out = append(out, fmt.Sprintf("%d %s|%s|%s", m.Line, m.ID, m.Event, row.Time))
			}
		}
	}
	return strings.Join(out, "\n")
}

func TestRows(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, test := range []struct {
		name, format, text string
		cols               ingest.Columns
		want               []string
	}{
		{"by name", "csv", "time,other,id,event\n1,2,3,4\n", named, []string{"2 3|4|1"}},
		{"by number", "csv", "a,b,c\n1,2,3\n", ingest.Columns{ID: "3", Event: "2", Time: "1"}, []string{"2 3|2|1"}},
		{"a name wins over a number", "csv", "3,2,1\na,b,c\n", ingest.Columns{ID: "1", Event: "2", Time: "3"}, []string{"2 c|b|a"}},
		{"no header", "csv", "a,b,c\nd,e,f,g\nh,i\n", ingest.Columns{ID: "3", Event: "2", Time: "1", NoHeader: true},
			[]string{"1 c|b|a", "2 f|e|d", `3 !2 fields, column 3 is asked for "h,i"`}},
		{"event name", "csv", "id,time\na,b\n", ingest.Columns{ID: "id", Event: "event", Time: "time", EventName: "paid"}, []string{"2 a|paid|b"}},
		{"tabs", "tsv", "id\tevent\ttime\na\t\"b\tc\"\td\n\t\t\n", named, []string{"2 a|b\tc|d", "3 ||"}},
		{"mark and CRLF", "csv", "\ufeffid,event,time\r\na,b,c\r\n", named, []string{"2 a|b|c"}},
		{"mark before quotes", "csv", "\ufeff\"id\",event,time\na,b,c", named, []string{"2 a|b|c"}},
		{"no newline at the end", "csv", "id,event,time\na,b,c", named, []string{"2 a|b|c"}},
		{"values as they stand", "csv", "id,event,time\n a , b,c \n", named, []string{"2  a | b|c "}},
		{"quotes", "csv", "id,event,time\n\"a,1\",\"b\n2\",\"\"\"c\"\"\"\nd,e,f\n", named, []string{"2 a,1|b\n2|\"c\"", "4 d|e|f"}},
		{"blank lines", "csv", "\n\n  \nid,event,time\n\r\n \t\na,b,c\n\n\n", named, []string{"7 a|b|c"}},
		{"a quoted blank is no blank line", "csv", "id,event,time\n\"\"\n", named, []string{`2 !1 fields, the header has 3 "\"\""`}},
		{"other number of fields", "csv", "id,event,time\na,b\na,b,c,d\na,b,c\n", named,
			[]string{`2 !2 fields, the header has 3 "a,b"`, `3 !4 fields, the header has 3 "a,b,c,d"`, "4 a|b|c"}},
		{"bare quote", "csv", "id,event,time\na\"b,c,d\ne,f,g\n", named,
			[]string{`2 !a quote within an unquoted field "a\"b,c,d"`, "3 e|f|g"}},
		{"text after a quote", "csv", "id,event,time\r\n\"a\"b,c,d\r\ne,f,g\r\n\"h\"i", named,
			[]string{`2 !text after the closing quote of a field "\"a\"b,c,d"`, "3 e|f|g", `4 !text after the closing quote of a field "\"h\"i"`}},
		{"text after a quote over lines", "csv", "id,event,time\n\"a\n\nb\"c,d,e\nf,g,h\n", named,
			[]string{`2 !text after the closing quote of a field "\"a\n\nb\"c,d,e"`, "5 f|g|h"}},
		{"end within quotes", "csv", "id,event,time\na,b,c\n\n\"d,e,f\ng,h,i\n", named,
			[]string{"2 a|b|c", "line 4: the file ends within a quoted field"}},
		{"end within quotes, CRLF", "csv", "id,event,time\r\na,\"b,c\r\n\r\n", named, []string{"line 2: the file ends within a quoted field"}},
		{"end within quotes, no newline", "csv", "id,event,time\na,b,\"c", named, []string{"line 2: the file ends within a quoted field"}},
		{"end after an opening quote", "csv", "id,event,time\na,b,\"", named, []string{"line 2: the file ends within a quoted field"}},
		{"endless quote", "csv", "id,event,time\na,b,c\nd,e,\"" + strings.Repeat("f,g,h\n", 1<<19), named,
			[]string{"2 a|b|c", "line 3: row is longer than 1 MiB"}},
		{"endless line", "csv", "id,event,time\na,b,c\n" + long + long, named, []string{"2 a|b|c", "line 3: row is longer than 1 MiB"}},
		{"many blank lines", "csv", "id,event,time\n" + strings.Repeat("\r\n", 1<<19) + "a,b,c\n", named, []string{fmt.Sprintf("%d a|b|c", 1<<19+2)}},
		{"header only", "csv", "id,event,time\n", named, nil},

		{"empty", "csv", "", named, []string{"open: the file has no header line: give --no-header if its first line is a row"}},
		{"blanks only", "csv", "\n \n", named, []string{"open: the file has no header line: give --no-header if its first line is a row"}},
		{"empty without header", "csv", "", ingest.Columns{ID: "1", Event: "2", Time: "3", NoHeader: true}, nil},
		{"bad header", "csv", "id,\"event,time\n", named, []string{"open: the header line cannot be read: line 1: the file ends within a quoted field"}},
		{"missing column", "csv", "id,when\n", named, []string{`open: column "time" is not in the header, which has ["id" "when"]`}},
		{"missing event", "csv", "id,time\n", named, []string{`open: column "event" is not in the header, which has ["id" "time"]`}},
		{"duplicated column", "csv", "id,event,time,id\n", named, []string{`open: column "id" stands twice in the header`}},
		{"other column duplicated", "csv", "id,event,time,x,x\na,b,c,d,e\n", named, []string{"2 a|b|c"}},
		{"number past the header", "csv", "a,b,c\n", ingest.Columns{ID: "1", Event: "2", Time: "4"}, []string{`open: column "4" is not in the header, which has 3 columns`}},
		{"number 0", "csv", "a,b,c\n", ingest.Columns{ID: "0", Event: "2", Time: "3"}, []string{`open: column "0" is not a column: they are numbered from 1`}},
		{"name without header", "csv", "a,b,c\n", ingest.Columns{ID: "id", Event: "2", Time: "3", NoHeader: true}, []string{`open: column "id" must be a number where there is no header`}},
		{"end within a later field's quotes", "csv", "id,event,time\n\"a\n\",\"b\nc\n,d\n", named, []string{"line 3: the file ends within a quoted field"}},
		{"endless quote, later line", "csv", "id,event,time\n\"a\n\",\"" + long, named, []string{"line 3: row is longer than 1 MiB"}},
		{"quotes after a fault", "csv", "id,event,time\na\"b,\"c\n\"\"x,\"d\ne,f,g\n", named,
			[]string{`2 !a quote within an unquoted field "a\"b,\"c"`, `3 !text after the closing quote of a field "\"\"x,\"d"`, "4 e|f|g"}},
		{"long quotes", "csv", "id,event,time\n\"" + long[1<<16:] + "\n\"\"\",b,c\nd,e,f\n", named, []string{"2 " + long[1<<16:] + "\n\"|b|c", "4 d|e|f"}},
		{"UTF-16", "csv", "\xff\xfei\x00d\x00", named, []string{"open: the file is UTF-16 text: convert it to UTF-8"}},
		{"unknown format", "xml", "", named, []string{`open: format "xml" is unknown`}},

		{"fixed", "fixed", " 00001 19970101\r\n\r\n  \n 00002 1997\n 003", ingest.Columns{ID: "2-6", Time: "8-15", EventName: "x"},
			[]string{"1 00001|x|19970101", "4 00002|x|1997", "5 003|x|"}},
		{"fixed with an event", "fixed", "ab  cd  e\n", ingest.Columns{ID: "1-4", Event: "5-8", Time: "9-20"}, []string{"1 ab|cd|e"}},
		{"fixed, bytes", "fixed", "é1\n", ingest.Columns{ID: "1-2", Time: "3-3", EventName: "x"}, []string{"1 é|x|1"}},
		{"fixed, endless line", "fixed", "a1\n" + long + "x", ingest.Columns{ID: "1-1", Time: "2-2", EventName: "x"}, []string{"1 a|x|1", "line 2: row is longer than 1 MiB"}},
		{"JSON", "jsonl", "\ufeff{\"id\":\"a\",\"event\":\"b\",\"time\":\"c\"}\r\n\n \n{ \"x\" : [{\"id\":1}, \"]\"] , \"time\" : 3 , \"event\":\"e\\\"\", \"id\":-1.50 }", named,
			[]string{"1 a|b|c", `4 -1.50|e"|3`}},
		{"JSON numbers are their digits", "jsonl", "{\"id\":1.0,\"event\":1e5,\"time\":12345678901234567890}\n", named, []string{"1 1.0|1e5|12345678901234567890"}},
		{"JSON escapes", "jsonl", `{"\u0069d":"\u00e9\ud83d\ude00\b\f\n\r\t\/\\\"","event":"\uD83D","time":"\ud83dx"}`, named,
			[]string{"1 é😀\b\f\n\r\t/\\\"|\xed\xa0\xbd|\xed\xa0\xbdx"}},
		{"JSON, the last of a key", "jsonl", `{"id":"a","id":"b","event":"c","time":"d","event":null,"event":"e"}`, named, []string{"1 b|e|d"}},
		{"JSON, other values", "jsonl", `{"id":null,"event":"b","time":"c"}` + "\n" + `{"id":"a","event":true,"time":"c"}` + "\n" +
			`{"id":"a","event":"b","time":{"at":"c"}}` + "\n" + `{"id":[],"event":"b","time":"c"}` + "\n" + `{"ID":"a","event":"b","time":"c"}` + "\n{}", named, []string{
			`1 !"id" is null, not a string or a number "{\"id\":null,\"event\":\"b\",\"time\":\"c\"}"`,
			`2 !"event" is true, not a string or a number "{\"id\":\"a\",\"event\":true,\"time\":\"c\"}"`,
			`3 !"time" is an object, not a string or a number "{\"id\":\"a\",\"event\":\"b\",\"time\":{\"at\":\"c\"}}"`,
			`4 !"id" is an array, not a string or a number "{\"id\":[],\"event\":\"b\",\"time\":\"c\"}"`,
			`5 !no key "id" "{\"ID\":\"a\",\"event\":\"b\",\"time\":\"c\"}"`, `6 !no key "id" "{}"`,
		}},
		{"not JSON", "jsonl", "{\"id\":\"a\"\n[1]\nid\n{}{}\n", named, []string{
			`1 !not JSON: unexpected end of JSON input "{\"id\":\"a\""`, `2 !not a JSON object "[1]"`,
			`3 !not JSON: invalid character 'i' looking for beginning of value "id"`, `4 !not JSON: invalid character '{' after top-level value "{}{}"`,
		}},
		{"JSON with an event name", "jsonl", `{"id":"a","time":"c"}`, ingest.Columns{ID: "id", Event: "event", Time: "time", EventName: "x"}, []string{"1 a|x|c"}},
		{"JSON, endless line", "jsonl", "{}\n{\"id\":\"" + long, named, []string{`1 !no key "id" "{}"`, "line 2: row is longer than 1 MiB"}},
		{"fixed, no range", "fixed", "", ingest.Columns{ID: "id", Time: "2-2", EventName: "x"}, []string{`open: column "id" is not a range of bytes, as 2-6 is`}},
		{"fixed, backward", "fixed", "", ingest.Columns{ID: "1-1", Time: "3-2", EventName: "x"}, []string{`open: column "3-2" is not a range of bytes, as 2-6 is`}},
		{"fixed, from 0", "fixed", "", ingest.Columns{ID: "1-1", Time: "1-1", Event: "0-2"}, []string{`open: column "0-2" is not a range of bytes, as 2-6 is`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, want := rows(t, test.format, test.text, test.cols), strings.Join(test.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken disk")
	for format, cols := range map[string]ingest.Columns{
		"csv": named, "jsonl": named, "fixed": {ID: "1-2", Event: "3-4", Time: "5-6"},
	} {
		text := io.MultiReader(strings.NewReader("id,event,time\na,b,c\nd,e"), iotest.ErrReader(broken))
		f, err := ingest.Open("file", format, text, cols)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for b, berr := range batches(t, f, 2) {
			if err = berr; err == nil {
				n += len(b.Marks)
			}
		}
		if !errors.Is(err, broken) || err.Error() != "file: line 3: broken disk" {
			t.Errorf("%s: %v", format, err)
		}
		if want := map[string]int{"csv": 1, "jsonl": 2, "fixed": 2}[format]; n != want {
			t.Errorf("%s: %d rows before it, want %d", format, n, want)
		}
	}
	if _, err := ingest.Open("file", "csv", iotest.ErrReader(broken), named); !errors.Is(err, broken) {
		t.Errorf("open: %v", err)
	}
}

// Files are read one after the other, and the first error ends it.
func TestSeveralFiles(t *testing.T) {
	lost := errors.New("lost")
	files := func(yield func(*ingest.File, error) bool) {
		for _, text := range []string{"1,a,x\n2,a,x\n", "", "3,a,x\n4,a,\"\n", "5,a,x"} {
			f, err := ingest.Open("f", "csv", strings.NewReader(text), ingest.Columns{ID: "1", Event: "2", Time: "3", NoHeader: true})
			if err != nil || !yield(f, nil) {
				return
			}
		}
		yield(nil, lost)
	}
	reading := ingest.Reading{Days: func() *ingest.DayParser { return parser(t, "auto", "UTC") }}
	var ids []string
	var end error
	for b, err := range reading.Batches(t.Context(), files) {
		if end = err; err != nil {
			break
		}
		for _, m := range b.Marks {
			ids = append(ids, m.ID)
		}
	}
	if got := strings.Join(ids, ""); got != "123" || end == nil || end.Error() != "f: line 2: the file ends within a quoted field" {
		t.Errorf("ids %s, then %v", got, end)
	}
}

// Many pieces, parsed at once, come out as the library reads the whole text.
func TestOrder(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var text strings.Builder
	text.WriteString("id,event,time\r\n")
	fields := []string{"a", "", "\"b\"", "\"c\n,d\"", "\"\"\"\"", "\"\r\n\n\"", strings.Repeat("long", 500)}
	for i := 0; text.Len() < 3<<20; i++ {
		fmt.Fprintf(&text, "%d,%s,%s%s", i, fields[random.IntN(len(fields))], fields[random.IntN(len(fields))], []string{"\n", "\r\n", "\n\n"}[i%3])
	}
	lib := csv.NewReader(strings.NewReader(text.String()))
	if _, err := lib.Read(); err != nil {
		t.Fatal(err)
	}
	f, err := ingest.Open("file", "csv", strings.NewReader(text.String()), named)
	if err != nil {
		t.Fatal(err)
	}
	pieces := 0
	for b, err := range batches(t, f, 4) {
		if err != nil {
			t.Fatal(err)
		}
		pieces++
		for i, m := range b.Marks {
			want, err := lib.Read()
			if err != nil {
				t.Fatal(err)
			}
			row, _ := rowOf(b, i)
			if line, _ := lib.FieldPos(0); m.ID != want[0] || m.Event != want[1] || !slices.Equal(row.Fields, want) || m.Line != line {
				t.Fatalf("line %d: %q, want %q on line %d", m.Line, row.Fields, want, line)
			}
		}
	}
	if _, err := lib.Read(); err != io.EOF || pieces < 30 {
		t.Errorf("%d pieces, then %v", pieces, err)
	}
}

// Whoever stops early, or whose context ends, is not kept waiting.
func TestStop(t *testing.T) {
	endless := func() (*ingest.File, *io.PipeWriter) {
		r, w := io.Pipe()
		go func() {
			for _, err := fmt.Fprint(w, "id,event,time\n"); err == nil; {
				_, err = fmt.Fprint(w, strings.Repeat("a,b,c\n", 1000))
			}
		}()
		f, err := ingest.Open("file", "csv", r, named)
		if err != nil {
			t.Fatal(err)
		}
		return f, w
	}
	f, w := endless()
	for range batches(t, f, 2) {
		break
	}
	w.Close()

	f, w = endless()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	reading := ingest.Reading{Days: func() *ingest.DayParser { return parser(t, "auto", "UTC") }}
	for _, err := range reading.Batches(ctx, one(f)) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("ended with %v", last)
	}
	w.Close()
}

func BenchmarkBatches(b *testing.B) {
	for format, text := range map[string]string{
		"csv":        "id,event,time\n" + strings.Repeat("PLR0KHTOWnGLuC,played,2026-01-30T10:15:00Z\n", 1e5),
		"csv quotes": "id,event,time\n" + strings.Repeat("\"PLR0KHTOWnGLuC\",\"played\",\"2026-01-30T10:15:00Z\"\n", 1e5),
		"jsonl":      strings.Repeat(`{"id":"PLR0KHTOWnGLuC","event":"played","time":"2026-01-30T10:15:00Z"}`+"\n", 1e5),
		"fixed":      strings.Repeat("PLR0KHTOWnGLuC played 2026-01-30T10:15:00Z\n", 1e5),
	} {
		for _, parsers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%d", format, parsers), func(b *testing.B) {
				cols := named
				if format == "fixed" {
					cols = ingest.Columns{ID: "1-14", Event: "16-21", Time: "23-42"}
				}
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					f, err := ingest.Open("file", strings.Fields(format)[0], strings.NewReader(text), cols)
					if err != nil {
						b.Fatal(err)
					}
					n := 0
					for batch, err := range batches(b, f, parsers) {
						if err != nil {
							b.Fatal(err)
						}
						for i := range batch.Marks {
							if batch.Marks[i].Refused != nil {
								b.Fatal(batch.Marks[i].Refused)
							}
						}
						n += len(batch.Marks)
					}
					if n != 1e5 {
						b.Fatal(n)
					}
				}
			})
		}
	}
}

// rowOf returns row i of a batch again, and its text.
func rowOf(b *ingest.Batch, i int) (ingest.Row, string) {
	return b.File.Row(b.Source(i), b.Marks[i].Line)
}
