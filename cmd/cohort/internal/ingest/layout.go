package ingest

import (
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-strftime"
)

// TimeFormat is how times are written. The zero TimeFormat is not usable.
type TimeFormat struct {
	name   string // "auto", "unix", "unix-ms", or "" for a layout
	layout string // of package time
	offset bool   // the layout has an offset from UTC
}

// ParseTimeFormat reads "auto", "unix", "unix-ms" or a layout: in the notation of
// strftime where it has a %, else in that of package time.
//
// In a layout the numbers of month, day, minute and second may have one digit
// where strftime is used. A layout must hold a whole date, and it may not hold
// the name of a zone, since names like IST stand for several.
func ParseTimeFormat(s string) (TimeFormat, error) {
	switch s {
	case "auto", "unix", "unix-ms":
		return TimeFormat{name: s}, nil
	}
	f := TimeFormat{layout: s}
	if strings.Contains(s, "%") {
		// The flag - asks for numbers without padding, and time.Parse then
		// takes both.
		lenient := strings.NewReplacer("%%", "%%", "%d", "%-d", "%m", "%-m", "%I", "%-I", "%M", "%-M", "%S", "%-S")
		layout, err := strftime.Layout(lenient.Replace(s))
		if err != nil {
			return TimeFormat{}, fmt.Errorf("time format %q: %w", s, err)
		}
		f.layout = layout
	}
	if strings.Contains(f.layout, "MST") {
		return TimeFormat{}, fmt.Errorf("time format %q names the zone, and names are not unique: use an offset", s)
	}
	// A date comes back whole only from a layout that holds it whole.
	const want, probe = "2019-11-23", "2019-11-23T14:35:47.123Z"
	t, _ := time.Parse(time.RFC3339, probe)
	back, err := time.Parse(f.layout, t.Format(f.layout))
	if err != nil || back.Format(time.DateOnly) != want {
		return TimeFormat{}, fmt.Errorf("time format %q does not hold a whole date: write it as 2006-01-02 15:04:05 or %%Y-%%m-%%d %%H:%%M:%%S", s)
	}
	east := t.In(time.FixedZone("", 5*3600))
	f.offset = east.Format(f.layout) != t.Add(5*time.Hour).Format(f.layout)
	return f, nil
}
