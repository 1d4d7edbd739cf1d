package ingest_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"cohort/cmd/cohort/internal/ingest"
)

var named = ingest.Columns{ID: "id", Event: "event", Time: "time"}

// rows writes each row as LINE id|event|time, a refused one as LINE !why, and
// what ended the file, unless that is its end.
func rows(t testing.TB, format, text string, cols ingest.Columns) string {
	t.Helper()
	src, err := ingest.Open(format, strings.NewReader(text), cols)
	if err != nil {
		return "open: " + err.Error()
	}
	var out []string
	for {
		row, err := src.Next()
		var bad *ingest.RowError
		switch {
		case err == io.EOF:
			return strings.Join(out, "\n")
		case errors.As(err, &bad):
			out = append(out, fmt.Sprintf("%d !%s %q", row.Line, bad.Why, row.Fields))
		case err != nil:
			out = append(out, err.Error())
			return strings.Join(out, "\n")
		default:
			out = append(out, fmt.Sprintf("%d %s|%s|%s", row.Line, row.ID, row.Event, row.Time))
		}
	}
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
			[]string{"1 c|b|a", "2 f|e|d", `3 !2 fields, column 3 is asked for ["h,i"]`}},
		{"event name", "csv", "id,time\na,b\n", ingest.Columns{ID: "id", Event: "event", Time: "time", EventName: "paid"}, []string{"2 a|paid|b"}},
		{"tabs", "tsv", "id\tevent\ttime\na\t\"b\tc\"\td\n\t\t\n", named, []string{"2 a|b\tc|d", "3 ||"}},
		{"mark and CRLF", "csv", "\ufeffid,event,time\r\na,b,c\r\n", named, []string{"2 a|b|c"}},
		{"mark before quotes", "csv", "\ufeff\"id\",event,time\na,b,c", named, []string{"2 a|b|c"}},
		{"no newline at the end", "csv", "id,event,time\na,b,c", named, []string{"2 a|b|c"}},
		{"values as they stand", "csv", "id,event,time\n a , b,c \n", named, []string{"2  a | b|c "}},
		{"quotes", "csv", "id,event,time\n\"a,1\",\"b\n2\",\"\"\"c\"\"\"\nd,e,f\n", named, []string{"2 a,1|b\n2|\"c\"", "4 d|e|f"}},
		{"blank lines", "csv", "\n\n  \nid,event,time\n\r\n \t\na,b,c\n\n\n", named, []string{"7 a|b|c"}},
		{"a quoted blank is no blank line", "csv", "id,event,time\n\"\"\n", named, []string{`2 !1 fields, the header has 3 ["\"\""]`}},
		{"other number of fields", "csv", "id,event,time\na,b\na,b,c,d\na,b,c\n", named,
			[]string{`2 !2 fields, the header has 3 ["a,b"]`, `3 !4 fields, the header has 3 ["a,b,c,d"]`, "4 a|b|c"}},
		{"bare quote", "csv", "id,event,time\na\"b,c,d\ne,f,g\n", named,
			[]string{`2 !a quote within an unquoted field ["a\"b,c,d"]`, "3 e|f|g"}},
		{"text after a quote", "csv", "id,event,time\r\n\"a\"b,c,d\r\ne,f,g\r\n\"h\"i", named,
			[]string{`2 !text after the closing quote of a field ["\"a\"b,c,d"]`, "3 e|f|g", `4 !text after the closing quote of a field ["\"h\"i"]`}},
		{"text after a quote over lines", "csv", "id,event,time\n\"a\n\nb\"c,d,e\nf,g,h\n", named,
			[]string{`2 !text after the closing quote of a field ["\"a\n\nb\"c,d,e"]`, "5 f|g|h"}},
		{"end within quotes", "csv", "id,event,time\na,b,c\n\n\"d,e,f\ng,h,i\n", named,
			[]string{"2 a|b|c", "line 4: the file ends within a quoted field"}},
		{"end within quotes, CRLF", "csv", "id,event,time\r\na,\"b,c\r\n\r\n", named, []string{"line 2: the file ends within a quoted field"}},
		{"end within quotes, no newline", "csv", "id,event,time\na,b,\"c", named, []string{"line 2: the file ends within a quoted field"}},
		{"end after an opening quote", "csv", "id,event,time\na,b,\"", named, []string{"line 2: the file ends within a quoted field"}},
		{"endless quote", "csv", "id,event,time\na,b,c\nd,e,\"" + strings.Repeat("f,g,h\n", 1<<19), named,
			[]string{"2 a|b|c", "line 3: row is longer than 1 MiB"}},
		{"endless line", "csv", "id,event,time\na,b,c\n" + long + long, named, []string{"2 a|b|c", "line 3: row is longer than 1 MiB"}},
		{"many blank lines", "csv", "id,event,time\n" + strings.Repeat("\r\n", 3<<20) + "a,b,c\n", named, []string{fmt.Sprintf("%d a|b|c", 3<<20+2)}},
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
		{"UTF-16", "csv", "\xff\xfei\x00d\x00", named, []string{"open: the file is UTF-16 text: convert it to UTF-8"}},
		{"unknown format", "xml", "", named, []string{`open: format "xml" is unknown`}},

		{"fixed", "fixed", " 00001 19970101\r\n\r\n  \n 00002 1997\n 003", ingest.Columns{ID: "2-6", Time: "8-15", EventName: "x"},
			[]string{"1 00001|x|19970101", "4 00002|x|1997", "5 003|x|"}},
		{"fixed with an event", "fixed", "ab  cd  e\n", ingest.Columns{ID: "1-4", Event: "5-8", Time: "9-20"}, []string{"1 ab|cd|e"}},
		{"fixed, bytes", "fixed", "é1\n", ingest.Columns{ID: "1-2", Time: "3-3", EventName: "x"}, []string{"1 é|x|1"}},
		{"fixed, endless line", "fixed", "a1\n" + long, ingest.Columns{ID: "1-1", Time: "2-2", EventName: "x"}, []string{"1 a|x|1", "line 2: row is longer than 1 MiB"}},
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
		"csv": named, "fixed": {ID: "1-2", Event: "3-4", Time: "5-6"},
	} {
		text := io.MultiReader(strings.NewReader("id,event,time\na,b,c\n"), iotest.ErrReader(broken))
		src, err := ingest.Open(format, text, cols)
		for err == nil {
			_, err = src.Next()
		}
		if !errors.Is(err, broken) || err.Error() != "line 3: broken disk" {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// FuzzCSV checks the reader against the library's own on the same text: it gives
// the same rows, on the lines the library tells, and each byte of the text is in
// one row, in none twice.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b,c\n", "\"a\nb\",c,d\r\n\r\ne,f,g", "a\"b,c,d\n\"a\"b\n\"a", " \n\ta,b\n", "\r\r\n,,\n"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, tabs bool) {
		format, comma := "csv", ','
		if tabs {
			format, comma = "tsv", '\t'
		}
		cols := ingest.Columns{ID: "1", Event: "2", Time: "3", NoHeader: true}
		src, err := ingest.Open(format, iotest.OneByteReader(strings.NewReader(text)), cols)
		if err != nil {
			if !errors.Is(err, ingest.ErrEncoding) {
				t.Fatal(err)
			}
			return
		}
		lib := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
		lib.Comma, lib.FieldsPerRecord = comma, -1
		for {
			want, werr := lib.Read()
			if werr == nil && len(want) == 1 && strings.Trim(want[0], " \t\r\n") == "" {
				continue // perhaps a blank line; checked by the table of cases
			}
			row, err := src.Next()
			for isBlank(row, err) {
				row, err = src.Next()
			}
			switch {
			case werr == io.EOF || errors.Is(err, ingest.ErrOpenQuote):
				if (err == io.EOF) != (werr == io.EOF) {
					t.Fatalf("%q: ended with %v, the library with %v", text, err, werr)
				}
				return
			case werr != nil || len(want) < 3:
				var bad *ingest.RowError
				if !errors.As(err, &bad) {
					t.Fatalf("%q: %v, %v, the library has %v", text, row, err, werr)
				}
				if len(row.Fields) != 1 || !strings.Contains(text, row.Fields[0]) {
					t.Fatalf("%q: refused row %q", text, row.Fields)
				}
			case err != nil || !slices.Equal(row.Fields, want):
				t.Fatalf("%q: %q, %v, want %q", text, row.Fields, err, want)
			default:
				if line, _ := lib.FieldPos(0); row.Line != line {
					t.Fatalf("%q: %q on line %d, want %d", text, row.Fields, row.Line, line)
				}
			}
		}
	})
}

// isBlank reports whether a row is one quoted field of blanks, which is refused.
func isBlank(row ingest.Row, err error) bool {
	var bad *ingest.RowError
	if !errors.As(err, &bad) {
		return false
	}
	inner, ok := strings.CutPrefix(row.Fields[0], "\"")
	inner, ok2 := strings.CutSuffix(inner, "\"")
	return ok && ok2 && strings.Trim(inner, " \t\r\n") == ""
}

func FuzzFixed(f *testing.F) {
	f.Add(" 00001 19970101  1\r\n", "2-6", "8-15")
	f.Add("a\n\n\xff", "1-1", "1-99")
	f.Fuzz(func(t *testing.T, text, id, when string) {
		src, err := ingest.Open("fixed", strings.NewReader(text), ingest.Columns{ID: id, Time: when, EventName: "x"})
		if err != nil {
			return
		}
		lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
		for {
			row, err := src.Next()
			if err != nil {
				return
			}
			if line := strings.TrimSuffix(lines[row.Line-1], "\r"); line != row.Fields[0] || !strings.Contains(line, row.ID) {
				t.Fatalf("%q: line %d is %q, id %q", text, row.Line, row.Fields[0], row.ID)
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	text := []byte("id,event,time\n" + strings.Repeat("PLR0KHTOWnGLuC,played,2026-01-30T10:15:00Z\n", 1e5))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		src, err := ingest.Open("csv", bytes.NewReader(text), named)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for ; err == nil; n++ {
			_, err = src.Next()
		}
		if err != io.EOF || n != 1e5+1 {
			b.Fatal(n, err)
		}
	}
}
