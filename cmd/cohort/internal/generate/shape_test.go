package generate_test

import (
	"slices"
	"testing"
	"time"

	"cohort/cmd/cohort/internal/generate"
	"cohort/store"
)

// month is what the ids of a generated month did, by number of the day.
type month struct {
	days  []map[string]map[string]bool // event, id
	whole map[string]map[string]bool
}

func readMonth(t *testing.T, o generate.Options) month {
	t.Helper()
	rows, err := generate.Rows(o)
	if err != nil {
		t.Fatal(err)
	}
	period := o.Period()
	m := month{days: make([]map[string]map[string]bool, period.Len()), whole: map[string]map[string]bool{}}
	add := func(to map[string]map[string]bool, row generate.Row) {
		if to[row.Event] == nil {
			to[row.Event] = map[string]bool{}
		}
		to[row.Event][row.ID] = true
	}
	for row := range rows {
		day := int(store.Date(row.Time.Date()) - period.First)
		if m.days[day] == nil {
			m.days[day] = map[string]map[string]bool{}
		}
		add(m.days[day], row)
		add(m.whole, row)
	}
	return m
}

// The month looks like one of a game. The ranges are those that such figures are
// usually in, not those of one seed.
func TestShape(t *testing.T) {
	const ids = 40_000
	o := generate.Options{Seed: 7, IDs: ids}.Defaults()
	m := readMonth(t, o)
	within := func(what string, got, least, most float64) {
		t.Helper()
		if got < least || got > most {
			t.Errorf("%s: %.4f, want %.4f to %.4f", what, got, least, most)
		}
	}
	registered, played, paid := m.whole[generate.Registered], m.whole[generate.Played], m.whole[generate.Paid]
	within("ids active", float64(len(m.whole[generate.Active])), ids, ids)
	within("part that signs up", float64(len(registered))/ids, 0.39, 0.41)
	within("registered who play", share(registered, played), 0.5, 0.8)
	within("of them who pay", share(both(registered, played), paid), 0.02, 0.1)

	day1, day7, day21 := m.back(1), m.back(7), m.back(21)
	within("back after a day", day1, 0.25, 0.45)
	within("back after a week", day7, 0.10, 0.25)
	within("back after three", day21, 0.06, 0.15)
	if day1 < day7 || day7 < day21 {
		t.Errorf("back after 1, 7 and 21 days: %.4f, %.4f, %.4f, which rises", day1, day7, day21)
	}

	last := len(m.days) - 1
	within("stickiness of the last day", float64(len(m.days[last][generate.Active]))/ids, 0.1, 0.3)
	m.checkWeeks(t, o)
	m.checkTail(t)
}

// back is the part of those who sign up that is active a number of days later.
func (m month) back(after int) float64 {
	size, came := 0, 0
	for i := range m.days[:len(m.days)-after] {
		cohort := m.days[i][generate.Registered]
		size += len(cohort)
		came += len(both(cohort, m.days[i+after][generate.Active]))
	}
	return float64(came) / float64(size)
}

// checkWeeks checks that every Saturday is busier than the Wednesday before.
func (m month) checkWeeks(t *testing.T, o generate.Options) {
	for i := range m.days {
		if (o.Period().First+store.Day(i)).Weekday() != time.Saturday || i < 3 {
			continue
		}
		for _, event := range []string{generate.Registered, generate.Active, generate.Played} {
			if saturday, wednesday := len(m.days[i][event]), len(m.days[i-3][event]); saturday <= wednesday {
				t.Errorf("day %d: %d %s on a Saturday, %d on the Wednesday before", i, saturday, event, wednesday)
			}
		}
	}
}

// checkTail checks that a few come on most days, and most on a few.
func (m month) checkTail(t *testing.T) {
	days := map[string]int{}
	total := 0
	for _, day := range m.days {
		for id := range day[generate.Active] {
			days[id]++
			total++
		}
	}
	var counts []int
	for _, n := range days {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	if median := counts[len(counts)/2]; median < 1 || median > 4 {
		t.Errorf("half of all come on %d days or fewer, want 1 to 4", median)
	}
	if most := counts[len(counts)-1]; most < 29 {
		t.Errorf("nobody comes on more than %d days", most)
	}
	top := 0
	for _, n := range counts[len(counts)*9/10:] {
		top += n
	}
	if part := float64(top) / float64(total); part < 0.3 || part > 0.7 {
		t.Errorf("a tenth of all makes up %.2f of active days, want 0.3 to 0.7", part)
	}
}

// both returns the ids in both sets.
func both(a, b map[string]bool) map[string]bool {
	set := map[string]bool{}
	for id := range a {
		if b[id] {
			set[id] = true
		}
	}
	return set
}

// share is the part of a that is in b.
func share(a, b map[string]bool) float64 { return float64(len(both(a, b))) / float64(len(a)) }
