package store_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// answer is what a store says to one question.
type answer struct {
	question, value string
	err             error
}

// ask asks a store what it holds, all of it in one digest; and, where each is
// set, every question by itself.
func ask(db *store.DB, each bool) (answers []answer) {
	s, err := db.Snapshot()
	if err != nil {
		return []answer{{"snapshot", "", err}}
	}
	defer s.Close()
	add := func(question string, value any, err error) {
		answers = append(answers, answer{question, fmt.Sprint(value), err})
	}
	digest, err := s.Digest()
	add("digest", digest, err)
	if !each {
		return answers
	}
	events, err := s.Events("")
	for i := range events {
		events[i] = store.Event{Name: events[i].Name, Brand: events[i].Brand, First: events[i].First, Last: events[i].Last, Days: events[i].Days, Marks: events[i].Marks, Bytes: events[i].Bytes}
	}
	add("events", events, err)
	brands, err := s.Brands()
	add("brands", brands, err)
	_, err = s.Stats()
	add("stats", "", err)
	biggest, err := s.Biggest(5)
	add("biggest", biggest, err)
	all := store.Period{First: store.MinDay, Last: store.MaxDay}
	for _, name := range []string{"daily", "recent", "large", "other brand", "shared", "journal", "new"} {
		askEvent(s, name, all, add)
	}
	for _, b := range []string{"USR", "PLR"} {
		numbers, err := s.SeenChunkNumbers(placement.Brand([]byte(b)))
		seen := roaring.New()
		for _, n := range numbers {
			var part *roaring.Bitmap
			if part, err = s.SeenChunk(placement.Brand([]byte(b)), n); err != nil {
				break
			}
			seen.Or(part)
		}
		add("seen "+b, seen, err)
	}
	sets, err := s.Sets()
	add("sets", sets, err)
	for _, name := range []string{"bots", "control", "nobody", "staff"} {
		askSet(s, name, add)
	}
	fields, err := s.Fields()
	add("fields", fmt.Sprint(fields), err)
	for _, f := range fields {
		askField(s, f, add)
	}
	askVisits(s, all, add)
	for _, id := range probes {
		known, sharing, err := s.Known(id)
		add("known "+id, fmt.Sprint(known, sharing), err)
	}
	return answers
}

func askSet(s *store.Snapshot, name string, add func(string, any, error)) {
	set, ok, err := s.Set(name)
	add("set "+name, fmt.Sprint(set, ok), err)
	numbers, err := s.SetChunkNumbers(name)
	add("chunks of set "+name, numbers, err)
	for _, n := range numbers {
		b, err := s.SetChunk(name, n)
		add(fmt.Sprintf("chunk %d of set %s", n, name), b, err)
	}
	b, err := s.SetChunk(name, 77)
	add("chunk 77 of set "+name, b, err)
}

func askField(s *store.Snapshot, f store.Field, add func(string, any, error)) {
	numbers, err := s.FieldChunkNumbers(f)
	add("chunks of field "+f.Name, numbers, err)
	for _, n := range append(numbers, 77) {
		v, err := s.FieldChunk(f, n)
		h := fnv.New64a()
		if err == nil {
			v.Values(func(pos uint32, value int64) { _, _ = fmt.Fprintln(h, pos, value) }) // a hash never fails
		}
		add(fmt.Sprintf("chunk %d of field %s", n, f.Name), h.Sum64(), err)
		for _, low := range []int64{math.MinInt64, -7, 1, 20, 1000} {
			var b *roaring.Bitmap
			x, err := s.FieldBetween(f, low, 1100)
			if err == nil {
				b, err = x.Bitmap(n)
			}
			add(fmt.Sprintf("chunk %d of field %s from %d", n, f.Name, low), b, err)
		}
		exists, bits, ok, err := s.FieldCounts(f, n)
		add(fmt.Sprintf("counts of chunk %d of field %s", n, f.Name), fmt.Sprint(exists, bits, ok), err)
	}
	for i := range uint64(20) {
		value, has, err := s.FieldValue(f.Name, branded("USR", 985+17*i))
		add(fmt.Sprintf("value %d of field %s", i, f.Name), fmt.Sprint(value, has), err)
	}
}

// probes are ids in the damaged store, and some that are not.
var probes = []string{
	branded("USR", 0), branded("USR", 5), branded("USR", 1000), branded("USR", 1399), branded("USR", 90_001), branded("USR", 90_049),
	branded("USR", 95_010), branded("USR", 1<<40), branded("USR", 1<<41+77), branded("PLR", 7), branded("PLR", 1000),
	"USR0G1qBS430hZ", "USR06ltY8okQpi",
}

func askVisits(s *store.Snapshot, all store.Period, add func(string, any, error)) {
	days, err := s.VisitDays(all)
	add("days of visits", days, err)
	brands, err := s.SiteBrands()
	add("brands of visits", brands, err)
	top, err := s.TopPages(4, all)
	add("top pages", fmt.Sprint(top), err)
	week := store.Period{First: today - 41, Last: today - 35}
	for _, b := range []string{"USR", "PLR"} {
		for _, p := range []store.Period{all, week, {First: today - 1, Last: today - 1}} {
			n, err := s.SiteUniques(placement.Brand([]byte(b)), p)
			add("uniques of "+b+" "+p.String(), n, err)
		}
	}
	for _, name := range []string{"page 0", "page 7", "page 280", "large", "dense", "none"} {
		pages, err := s.Pages(name)
		add("page "+name, pages, err)
		for _, page := range pages {
			n, err := s.Uniques(page, all)
			add(fmt.Sprint("uniques ", page), n, err)
			n, err = s.Uniques(page, week)
			add(fmt.Sprint("uniques of a week ", page), n, err)
		}
	}
	held, err := s.VisitsHolding(branded("USR", 3))
	add("visits held", fmt.Sprint(held), err)
}

func askEvent(s *store.Snapshot, name string, all store.Period, add func(string, any, error)) {
	e, ok, err := s.Event(name)
	add("event "+name, fmt.Sprint(ok, e.Brand, e.Period(), e.Marks, e.Days, e.Bytes), err)
	if err != nil || !ok {
		return
	}
	days, err := s.Days(e, all)
	add("days "+name, days, err)
	week, err := s.Days(e, store.Period{First: today - 60, Last: today - 50})
	add("days of a week "+name, week, err)
	b, err := s.Bitmap(name, all)
	h := fnv.New64a()
	if err == nil {
		_, err = b.WriteTo(h)
	}
	add("bitmap "+name, h.Sum64(), err)
	askRemembered(s, e, add)
	askFrames(s, e, add)
	if b != nil {
		h := fnv.New64a()
		var err error
		for id, memberErr := range s.MembersAt(e.Brand, b) {
			_, _ = h.Write([]byte(id)) // a hash never fails
			err = memberErr
		}
		add("members "+name, h.Sum64(), err)
	}
	for i, id := range probes {
		if id[:3] != e.Brand.String() || (i+len(name))%3 > 0 {
			continue
		}
		for _, p := range []store.Period{all, {First: today - 2, Last: today - 2}, {First: today, Last: today}} {
			at, err := s.Has(name, id, p)
			add("has "+name+" "+id+" "+p.String(), at, err)
			active, shared, err := s.ActiveDays(name, id, p)
			add("days of "+name+" "+id+" "+p.String(), fmt.Sprint(active, shared), err)
		}
	}
}

// askFrames counts the ids of the first and of the second half of the event's days,
// and those in both.
func askFrames(s *store.Snapshot, e store.Event, add func(string, any, error)) {
	var counts [3]int
	err := func() error {
		middle := e.First + (e.Last-e.First)/2
		f := s.Frames(2)
		var numbers []uint32
		for i, p := range []store.Period{{First: e.First, Last: middle}, {First: middle + 1, Last: e.Last}} {
			more, err := s.ChunkNumbers(e, p)
			if err := errors.Join(err, f.Add(i, e, p)); err != nil {
				return err
			}
			numbers = append(numbers, more...)
		}
		slices.Sort(numbers)
		for _, n := range slices.Compact(numbers) {
			if err := f.Open(n, nil); err != nil {
				return err
			}
			for f.Next() {
				x, y := f.Column(0), f.Column(1)
				for i := range f.Words() {
					var a, b uint64
					if x != nil {
						a = x[i]
					}
					if y != nil {
						b = y[i]
					}
					counts[0] += bits.OnesCount64(a)
					counts[1] += bits.OnesCount64(b)
					counts[2] += bits.OnesCount64(a & b)
				}
			}
		}
		return f.Err()
	}()
	add("frames "+e.Name, counts, err)
}

// askRemembered asks what is answered from remembered unions and first days.
func askRemembered(s *store.Snapshot, e store.Event, add func(string, any, error)) {
	february := store.Period{First: store.Date(2026, 2, 1), Last: store.Date(2026, 2, 28)}
	numbers, err := s.ChunkNumbers(e, february)
	union := roaring.New()
	for _, n := range numbers {
		var part *roaring.Bitmap
		if part, err = s.Chunk(e, february, n); err != nil {
			break
		}
		union.Or(part)
	}
	add("february "+e.Name, union, err)
	periods := []store.Period{february, {First: february.Last + 1, Last: store.MaxDay}}
	numbers, err = s.FirstChunkNumbers(e)
	first := []*roaring.Bitmap{roaring.New(), roaring.New()}
	for _, n := range numbers {
		var parts []*roaring.Bitmap
		if parts, err = s.FirstDays(e, periods, n); err != nil {
			break
		}
		first[0].Or(parts[0])
		first[1].Or(parts[1])
	}
	add("first days "+e.Name, first, err)
	for _, p := range periods {
		days, ok, err := s.FirstCounts(e, p)
		if ok || err != nil {
			add("numbers of first days "+e.Name+" "+p.String(), days, err)
		}
	}
}

// wrong returns the questions to which a damaged store gives another answer
// than the whole one.
func wrong(got, want []answer) (questions []string) {
	value := make(map[string]string)
	for _, a := range want {
		value[a.question] = a.value
	}
	for _, a := range got {
		if a.err == nil && a.value != value[a.question] {
			questions = append(questions, fmt.Sprintf("%s: %.60s, want %.60s", a.question, a.value, value[a.question]))
		}
	}
	return questions
}

// write changes the store in every way; false where something was refused.
func write(db *store.DB) (ok bool, questions []string) {
	ok = true
	expect := func(what string, got, want any, err error) {
		if err != nil {
			ok = false
		} else if got != want {
			questions = append(questions, fmt.Sprintf("%s: %v, want %v", what, got, want))
		}
	}
	r, err := db.Mark(ctx, "daily", branded("USR", 1<<41+77), today)
	expect("mark", r, store.New, err)
	r, err = db.Mark(ctx, "recent", branded("USR", 90_010), today)
	expect("mark again", r, store.Already, err)
	r, err = db.Unmark(ctx, "recent", branded("USR", 90_020), today)
	expect("unmark", r, store.Cleared, err)
	r, err = db.Mark(ctx, "shared", "USR06ltY8okQpi", today)
	want := store.Shared
	if db.Config().Positions == store.Dense {
		want = store.Already
	}
	expect("mark shared", r, want, err)
	r, err = db.Mark(ctx, "new", branded("USR", 1000), today)
	expect("mark new", r, store.New, err)
	tally, err := loadRows(db, slices.Collect(someMarks("large", 10, 1395)), 10)
	expect("load", tally, store.Tally{New: 5, Already: 5}, err)
	r, err = db.Observe(ctx, "page 7", branded("USR", 5000), today-1)
	expect("observe", r, store.New, err)
	r, err = db.Observe(ctx, "page 7", branded("USR", 0), today-1)
	expect("observe again", r, store.Already, err)
	r, err = db.Observe(ctx, "a new page", branded("USR", 0), today)
	expect("observe new", r, store.New, err)
	expect("fold", nil, nil, db.Fold(ctx))
	expect("delete", nil, nil, db.DeleteDay(ctx, "other brand", today))
	set, err := db.SaveIDs(ctx, "bots", noErrors([]string{branded("USR", 5), branded("USR", 1<<40)}))
	expect("save", set.Count, uint64(2), err)
	expect("delete set", nil, nil, db.DeleteSet(ctx, "staff"))
	done, err := db.Erase(ctx, branded("USR", 1003))
	expect("erase", done, store.Erasure{Result: store.Cleared, Events: 1, Days: 1, Sets: 1, Fields: 2}, err)
	expect("remember", nil, nil, db.Remember(ctx))
	return ok, questions
}

// prober knows what a whole store answers.
type prober struct {
	path           string
	file           []byte
	whole, written []answer
	heads          []string // digests with either of the file's two heads broken
}

func (p *prober) prepare() error {
	for head := range 2 {
		broken := slices.Clone(p.file)
		broken[4096*head+79] ^= 1
		digest, err := p.digest(broken)
		if err != nil {
			return err
		}
		p.heads = append(p.heads, digest)
	}
	if err := os.WriteFile(p.path, p.file, 0o600); err != nil {
		return err
	}
	db, err := store.Open(p.path, options(0))
	if err != nil {
		return err
	}
	p.whole = ask(db, true)
	if ok, questions := write(db); !ok || len(questions) > 0 {
		return fmt.Errorf("the whole store cannot be written: %v", questions)
	}
	p.written = ask(db, true)
	for _, a := range append(p.whole, p.written...) {
		if a.err != nil {
			return a.err
		}
	}
	return db.Close()
}

func (p *prober) digest(file []byte) (string, error) {
	if err := os.WriteFile(p.path, file, 0o600); err != nil {
		return "", err
	}
	db, err := store.Open(p.path, options(0))
	if err != nil {
		return "", err
	}
	answers := ask(db, false)
	return answers[0].value, errors.Join(answers[0].err, db.Close())
}

// probeHead opens a file one of whose heads is damaged. There are two, of the
// last commit and of the one before, and bbolt takes the newer that is whole: a
// head that was being written when the machine stopped looks the same. So a
// damaged head can take the last commit back, but nothing else.
func (p *prober) probeHead(file []byte) []string {
	digest, err := p.digest(file)
	if err != nil {
		if isDamage(err) {
			return nil
		}
		return []string{err.Error()}
	}
	if digest != p.whole[0].value && !slices.Contains(p.heads, digest) {
		return []string{"digest: " + digest}
	}
	return nil
}

// probe opens a damaged file in both ways, and returns what it answers wrongly.
func (p *prober) probe(file []byte) (questions []string) {
	add := func(how string, found []string) {
		for _, q := range found {
			questions = append(questions, how+": "+q)
		}
	}
	if err := os.WriteFile(p.path, file, 0o600); err != nil {
		return []string{err.Error()}
	}
	opts := options(0)
	opts.ReadOnly = true
	if db, err := store.Open(p.path, opts); err == nil {
		answers := ask(db, false)
		add("reading", wrong(answers, p.whole))
		add("verifying", verifyFinds(db, answers))
		_ = db.Close() // it may find the damage
	} else if !isDamage(err) {
		add("reading", []string{err.Error()})
	}
	db, err := store.Open(p.path, options(0))
	if err != nil {
		if !isDamage(err) {
			add("writing", []string{err.Error()})
		}
		return questions
	}
	add("writing", wrong(ask(db, true), p.whole))
	ok, found := write(db)
	add("writing", found)
	if ok {
		add("written", wrong(ask(db, false), p.written))
	}
	if db.Close() != nil || !ok {
		return questions
	}
	if db, err = store.Open(p.path, options(0)); err == nil {
		add("reopened", wrong(ask(db, false), p.written))
		_ = db.Close() // it may find the damage
	}
	return questions
}

// verifyFinds compares what Verify finds with what a question has found: where that
// met damage, there is a fault to report.
func verifyFinds(db *store.DB, answers []answer) []string {
	v, err := db.Verify(ctx, store.VerifyOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	if answers[0].err != nil && v.Faults == 0 {
		return []string{"no fault, where a question finds " + answers[0].err.Error()}
	}
	return nil
}

// isDamage: a flipped bit may also make a file another one: not a store, or one
// of a newer format.
func isDamage(err error) bool {
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNewerFormat) || strings.Contains(err.Error(), "not a cohort store")
}
