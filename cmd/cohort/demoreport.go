package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cohort/cmd/cohort/internal/generate"
)

// show imports the month, asks all questions, and shows the answers as they come,
// or all of them as one document.
func (d *demo) show(ctx context.Context) (err error) {
	r := demoResult{Generated: d.generated(), Answers: map[string]json.RawMessage{}, Commands: map[string]string{}}
	if r.Import, err = d.importMonth(ctx); err != nil {
		return err
	}
	if err := d.headline(&r); err != nil {
		return err
	}
	questions, err := d.questions(ctx)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if err := d.answer(ctx, q, &r); err != nil {
			return err
		}
	}
	if r.Memory, err = d.measure(ctx); err != nil {
		return err
	}
	if d.json {
		return d.write(r, nil)
	}
	if err := d.writeMemory(r.Memory); err != nil {
		return err
	}
	return d.farewell()
}

// demoResult is all that demo shows.
type demoResult struct {
	Generated demoMonth
	Import    importResult
	Answers   map[string]json.RawMessage // by the key of the question
	Commands  map[string]string          // by the same keys
	Memory    *demoMemory
}

// MarshalJSON writes the answers beside the other parts.
func (r demoResult) MarshalJSON() ([]byte, error) {
	doc := map[string]any{"generated": r.Generated, "import": r.Import, "memory": r.Memory, "commands": r.Commands}
	for key, answer := range r.Answers {
		doc[key] = answer
	}
	return json.Marshal(doc)
}

// demoMonth is what was made up.
type demoMonth struct {
	Seed  uint64  `json:"seed"`
	IDs   int     `json:"ids"`
	Brand string  `json:"brand"`
	From  string  `json:"from"`
	To    string  `json:"to"`
	Store *string `json:"store"` // where it is kept, null where it is not
}

func (d *demo) generated() demoMonth {
	p := d.o.Period()
	m := demoMonth{d.o.Seed, d.o.IDs, d.o.Brand.String(), p.First.String(), p.Last.String(), nil}
	if d.temp == "" {
		m.Store = &d.path
	}
	return m
}

// headline shows what was imported, and how.
func (d *demo) headline(r *demoResult) error {
	r.Commands["import"] = d.importCommandLine()
	if d.json {
		return nil
	}
	perSecond := uint64(float64(r.Import.Rows) / max(r.Import.Seconds, 0.001))
	_, err := fmt.Fprintf(d.out, `A month of an online game, made up: %s players, %s to %s
$ %s
%s rows in %.1f s (%s a second): %s marks, %s repeats on the same day
`, grouped(uint64(d.o.IDs)), r.Generated.From, r.Generated.To, r.Commands["import"],
		grouped(r.Import.Rows), r.Import.Seconds, grouped(perSecond), grouped(r.Import.New), grouped(r.Import.Already+r.Import.Shared))
	if err != nil {
		return err
	}
	return d.out.Flush()
}

// importCommandLine returns the commands that make the store.
func (d *demo) importCommandLine() string {
	line := "cohort generate"
	usual := generate.Options{Seed: usualSeed}.Defaults()
	if d.o.Seed != usual.Seed {
		line += fmt.Sprintf(" --seed %d", d.o.Seed)
	}
	if d.o.IDs != usual.IDs {
		line += fmt.Sprintf(" --ids %d", d.o.IDs)
	}
	return line + " | " + d.commandLine([]string{"import", "--format", "csv", "-"})
}

// question is one command to show.
type question struct {
	key   string // of its answer in JSON
	about string
	args  []string
}

// questions lists what is asked. Those about one id need one that came every day of
// the last week; a small store may have none.
func (d *demo) questions(ctx context.Context) ([]question, error) {
	p := d.o.Period()
	month, lastWeek, asOf := p.First.String()[:len("2026-01")], (p.Last - 6).String(), p.Last.String()
	ask := func(key, about string, args ...string) question { return question{key, about, args} }
	regulars, err := d.command(ctx, nil, "members", "every("+generate.Active+"["+lastWeek+".."+asOf+"])", "--limit", "1")
	if err != nil {
		return nil, err
	}
	var ofOne []question
	for id := range strings.FieldsSeq(string(regulars)) {
		ofOne = append(ofOne,
			ask("streak_of_one", "One of them: its days in a row", "streak", generate.Active, id, "--as-of", asOf),
			ask("calendar_of_one", "And the days it came", "calendar", generate.Active, id, "--over", month))
	}
	return slices.Concat([]question{
		ask("top", "What was done most: marks, the best day, and how many did it in the month at all", "top", "--over", month),
		ask("active_by_day", "Who was active, by day: with those of 7 and 30 days, and the day's part of the 30 (stickiness)",
			"active", generate.Active, "--from", lastWeek, "--to", asOf, "--as-of", asOf),
		ask("active_by_week", "By week", "active", generate.Active, "--by", "week", "--as-of", asOf),
		ask("active_by_month", "By month", "active", generate.Active, "--by", "month", "--as-of", asOf),
		ask("retention_by_week", "Who came back: of those who registered in a week, in the weeks after it",
			"retention", generate.Registered, "--return", generate.Active, "--by", "week", "--periods", "4", "--as-of", asOf),
		ask("retention_by_day", "The same of the first ten days, day by day",
			"retention", generate.Registered, "--return", generate.Active, "--to", (p.First + 9).String(), "--periods", "8", "--as-of", asOf),
		ask("lifecycle", "Who was new, still there, back after a pause, or gone: by week",
			"lifecycle", generate.Active, "--by", "week", "--as-of", asOf),
		ask("streak", "How many came on each of the last seven days at least",
			"streak", generate.Active, "--at-least", "7", "--as-of", asOf),
	}, ofOne, []question{
		ask("funnel", "How far they came: registered, then played, then paid",
			"funnel", generate.Registered, generate.Played, generate.Paid, "--over", month, "--as-of", asOf),
		ask("funnel_in_order", "In that order within a week: on the same day or later, and strictly later",
			"funnel", generate.Registered, generate.Played, generate.Paid, "--over", month, "--order", "both", "--within", "7", "--as-of", asOf),
		ask("count", "Sets: who paid and did not come in the last week; who never played",
			"count", "paid["+month+"] - active[7d@"+asOf+"]", "seen - played[all]"),
		ask("members", "And who they are", "members", "paid["+month+"] - active[7d@"+asOf+"]", "--limit", "3"),
		ask("collisions", "Ids that share the place of their bit with another, which a count loses", "collisions"),
	}), nil
}

// answer runs a command and shows it with its results, or notes them for JSON.
func (d *demo) answer(ctx context.Context, q question, r *demoResult) error {
	args := slices.Clone(q.args)
	if d.json {
		args = append(args, "--json")
	}
	text, err := d.command(ctx, nil, args...)
	if err != nil {
		return err
	}
	if d.json {
		r.Answers[q.key] = bytes.TrimSpace(text)
		r.Commands[q.key] = d.commandLine(q.args)
		return nil
	}
	if _, err := fmt.Fprintf(d.out, "\n%s\n$ %s\n%s", q.about, d.commandLine(q.args), text); err != nil {
		return err
	}
	return d.out.Flush()
}

// commandLine returns a command as it is typed in a shell.
func (d *demo) commandLine(args []string) string {
	words := []string{"cohort"}
	if d.temp == "" {
		words = append(words, "--db", d.path)
	}
	words = append(words, args...)
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, needsQuotes) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// needsQuotes reports whether a shell may take a character for more than itself.
func needsQuotes(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=@,+%", r))
}

// farewell says how to go on.
func (d *demo) farewell() error {
	text := "\nThe store was temporary. Keep one, to ask it more: cohort demo --keep demo.db\n"
	if d.temp == "" {
		text = "\nThe store is kept: ask it more. " + d.commandLine([]string{"help"}) + " lists what there is.\n"
	}
	_, err := d.out.WriteString(text)
	return err
}

// grouped writes a number with commas between groups of three digits.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
