package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// machine is what the figures were taken on, and of.
type machine struct {
	cpu, kernel, disk string
	cores             int
	golang            string
	commit            string
	roaring, bbolt    string
	date              time.Time
	before, after     string // load averages of the minutes before and after
	seed              uint64
	scale             scale
	command           string
}

// readMachine finds out what it can; what it cannot find is "unknown".
func readMachine(dir string, o options) machine {
	m := machine{
		cpu: "unknown", kernel: "unknown", roaring: "unknown", bbolt: "unknown",
		disk: fileSystem(dir), cores: runtime.NumCPU(), golang: runtime.Version(),
		commit: commit(), date: time.Now().UTC(), before: load(), seed: o.seed, scale: o.scale,
	}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		m.cpu = field(f, "model name")
		_ = f.Close() // it was only read
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.kernel = strings.TrimSpace(string(b))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			switch dep.Path {
			case "github.com/RoaringBitmap/roaring/v2":
				m.roaring = dep.Version
			case "go.etcd.io/bbolt":
				m.bbolt = dep.Version
			}
		}
	}
	m.command = "go run ./bench"
	if o.size != "middle" {
		m.command += " -size " + o.size
	}
	if len(o.sections) < len(sections()) {
		for _, s := range o.sections {
			m.command += " " + s.name
		}
	}
	return m
}

// field returns the value of the first line "key : value", or "unknown".
func field(r io.Reader, key string) string {
	for s := bufio.NewScanner(r); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

// load returns the load average over the last minute, or "unknown". Above the
// number of cores, others were at work and times are theirs too.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(b), " ")
	return minute
}

// commit returns the hash of the source. `go build` notes it in the binary, and
// whether files differ from it, which is shown as a plus sign; `go run` does not,
// so git is asked, for the hash alone.
func commit() string {
	hash, changed := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				hash = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = "+"
			}
		}
	}
	if hash != "" {
		return hash + changed
	}
	out, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out)) + ", files not compared"
}

func (m machine) write(w io.Writer) {
	t := table{columns: []string{"", "this run"}}
	t.row("CPU", fmt.Sprintf("%s, %d cores", m.cpu, m.cores))
	t.row("kernel, file system", m.kernel+", "+m.disk)
	t.row("Go, roaring, bbolt", m.golang+", "+m.roaring+", "+m.bbolt)
	t.row("commit", m.commit)
	t.row("date", m.date.Format(time.DateOnly))
	t.row("load before, after", m.before+", "+m.after)
	t.row("seed", fmt.Sprint(m.seed))
	t.row("sizes", fmt.Sprintf("%s ids a day, %s rows, %s days", thousands(int64(m.scale.ids)), thousands(int64(m.scale.rows)), thousands(int64(m.scale.days))))
	t.write(w)
}
