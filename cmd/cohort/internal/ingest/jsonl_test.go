package ingest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"cohort/cmd/cohort/internal/ingest"
)

// FuzzJSONL checks each line against encoding/json: the same lines are JSON
// objects, and the members that are asked for have the same texts.
func FuzzJSONL(f *testing.F) {
	for _, s := range []string{
		`{"id":"a","event":"b","time":"c"}`, "{}\n[]\n\"\"\n1\nnull", `{"id":1.0,"event":-0e1,"time":{"id":["\\\"",{}]}}`,
		`{"id":"\u0041\ud83d\ude00\n","id":2,"\u0069d":"x"}`, `{ "a" : [ { } , "}" ] , "id" : 7 }`, "{\"id\":\"\xff\"}", `{"id":"\ud800\u0041"}`,
	} {
		f.Add(s, "id", "time")
	}
	f.Fuzz(func(t *testing.T, text, id, when string) {
		cols := ingest.Columns{ID: id, Time: when, EventName: "x"}
		file, err := ingest.Open("file", "jsonl", strings.NewReader(text), cols)
		if err != nil || file.Compression != "" {
			return
		}
		file.SetPieceSize(1)
		lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
		for b, err := range file.Sequential(parser(t, "auto", "UTC")) {
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range b.Marks {
				row, _ := rowOf(b, i)
				line := lines[m.Line-1]
				wantID, wantTime, ok := jsonOracle(line, id, when)
				bad := m.Refused != nil && m.Refused.Reason == ingest.BadRow
				if bad == ok {
					t.Fatalf("%q: refused: %v", line, m.Refused)
				}
				// The library makes U+FFFD of what is no Unicode, which is kept here.
				if !ok || !utf8.ValidString(row.ID+row.Time+line) {
					continue
				}
				if row.ID != wantID || row.Time != wantTime {
					t.Fatalf("%q: id %q, time %q, want %q and %q", line, row.ID, row.Time, wantID, wantTime)
				}
			}
		}
	})
}

// jsonOracle reads a line with encoding/json; ok is false for one to refuse.
func jsonOracle(line, id, when string) (idText, timeText string, ok bool) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &members); err != nil || members == nil {
		return "", "", false
	}
	idText, okID := jsonText(members[id])
	timeText, okTime := jsonText(members[when])
	return idText, timeText, okID && okTime
}

func jsonText(v json.RawMessage) (string, bool) {
	if v == nil {
		return "", false
	}
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return "", false
	}
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// BenchmarkJSON compares reading one line with ways of the library.
func BenchmarkJSON(b *testing.B) {
	const line = `{"time":"2026-01-01T00:00:00Z","id":"USR1NASW1VaDwt","event":"active","n":12.5}`
	b.Run("decoder", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dec := json.NewDecoder(strings.NewReader(line))
			dec.UseNumber()
			var v map[string]any
			if err := dec.Decode(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("valid", func(b *testing.B) {
		text := []byte(line)
		b.ReportAllocs()
		for b.Loop() {
			if !json.Valid(text) {
				b.Fatal()
			}
		}
	})
	b.Run("scan", func(b *testing.B) {
		read := ingest.JSONReader("id", "event", "time")
		text := []byte(line)
		b.ReportAllocs()
		for b.Loop() {
			if row, err := read(text); err != nil || row.ID != "USR1NASW1VaDwt" {
				b.Fatal(row, err)
			}
		}
	})
}
