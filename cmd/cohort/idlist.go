package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"iter"
)

// idForm is how a list of ids is written.
type idForm struct {
	head, between, tail string
	write               func(*bufio.Writer, string) error
}

// The forms.
var (
	formIDs   = idForm{write: writeLine}
	formCSV   = idForm{head: "id\n", write: writeCSVLine}
	formLines = idForm{write: writeJSONLine}
	formJSON  = idForm{head: `{"ids":[`, between: ",", tail: "]}\n", write: writeJSON}
)

// parseIDForm returns the form that a flag names.
func parseIDForm(name string) (idForm, error) {
	switch name {
	case "ids":
		return formIDs, nil
	case "csv":
		return formCSV, nil
	case "jsonl":
		return formLines, nil
	}
	return idForm{}, errors.New("must be ids, csv or jsonl")
}

// idForm returns the form that the flags of every subcommand ask for.
func (a *app) idForm() idForm {
	switch {
	case a.json:
		return formJSON
	case a.csv:
		return formCSV
	}
	return formIDs
}

// writeIDs writes ids as they come, for there may be millions, and returns how
// many. An error of the question comes before any id.
func writeIDs(ctx context.Context, w *bufio.Writer, ids iter.Seq2[string, error], form idForm) (n int, err error) {
	for id, err := range ids {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return n, err
		}
		lead := form.between
		if n == 0 {
			lead = form.head
		}
		if _, err := w.WriteString(lead); err != nil {
			return n, err
		}
		if err := form.write(w, id); err != nil {
			return n, err
		}
		n++
	}
	tail := form.tail
	if n == 0 {
		tail = form.head + form.tail
	}
	_, err = w.WriteString(tail)
	return n, err
}

func writeLine(w *bufio.Writer, id string) error {
	_, err := w.WriteString(id + "\n")
	return err
}

func writeJSON(w *bufio.Writer, id string) error {
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// writeJSONLine writes an object with the id, on a line.
func writeJSONLine(w *bufio.Writer, id string) error {
	return json.NewEncoder(w).Encode(map[string]string{"id": id})
}

func writeCSVLine(w *bufio.Writer, id string) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{id}); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}
