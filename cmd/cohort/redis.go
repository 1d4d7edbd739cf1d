package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"cohort/cmd/cohort/internal/redisbits"
	"cohort/placement"
	"cohort/store"

	"github.com/spf13/cobra"
)

// redisFlags are the flags of an import from Redis.
type redisFlags struct {
	address string
	match   string
	layout  string
	offset  int64
}

// redisHelp is what the help of import says of it.
const redisHelp = `With --from-redis it reads flat bitmaps, strings written with SETBIT, from a
running Redis: bit N of a key is the id N, so the store is one of numbers. The
address is HOST:PORT, redis://[USER:PASSWORD@]HOST[:PORT][/DB] or unix:///PATH; a
password can also be in REDISCLI_AUTH. --key-layout says which keys are bitmaps:
  dated       active:2026-01-30: the event, a colon, the date
  bitmapist   the keys of days and hours of the library bitmapist
  a template  such as stats:{event}:{date}, of {event} {date} {yyyymmdd} {yyyy}
              {mm} {dd} {hh}, {m} {d} {h} without leading zero, {{ and }}
Keys of an hour count for their day. Other keys that match are skipped and named.`

func (f *redisFlags) addFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.address, "from-redis", "", "read bitmaps from the Redis at an `address`, instead of files")
	fs.StringVar(&f.match, "match", "", "import the keys that match a Redis `pattern` (default by the layout)")
	fs.StringVar(&f.layout, "key-layout", "dated", "`layout` of the keys: dated, bitmapist, or a template")
	fs.Int64Var(&f.offset, "offset", 0, "the id of bit 0: bit N is the id N plus `id`")
}

// given reports whether the import is from Redis.
func (f *redisFlags) given(cmd *cobra.Command) bool { return cmd.Flags().Changed("from-redis") }

// check returns an error if the flags do not go together.
func (f *redisFlags) check(cmd *cobra.Command, c creation, files []string) error {
	own := []string{"match", "key-layout", "offset"}
	if !f.given(cmd) {
		for _, name := range own {
			if cmd.Flags().Changed(name) {
				return usagef("--%s goes with --from-redis", name)
			}
		}
		return nil
	}
	err := onlyFlags(cmd, "--from-redis",
		slices.Concat(own, creationFlags, []string{"from-redis", "event-name", "rejects", "max-rejects", "dry-run"})...)
	switch {
	case err != nil:
		return err
	case len(files) > 0:
		return usagef("%q: files do not go with --from-redis", files[0])
	case c.ids != 0 && c.ids != placement.Number:
		return usagef("--ids %s: the positions of bits are numbers", c.ids)
	case c.positions != 0:
		return usagef("--positions %s: the positions of bits are numbers", c.positions)
	case f.offset <= -placement.Placements || f.offset >= placement.Placements:
		return usagef("--offset %d: ids are numbers below 2^32", f.offset)
	}
	return nil
}

// redisKeys is what became of the keys of a Redis.
type redisKeys struct {
	Keys    int          `json:"keys"` // that were read
	Skipped []skippedKey `json:"skipped"`
}

type skippedKey struct {
	Key    string           `json:"key"`
	Reason redisbits.Reason `json:"reason"`
}

// importRedis imports bitmaps and reports what became of their bits.
func (a *app) importRedis(ctx context.Context, f importFlags) (err error) {
	start := time.Now()
	layout, err := redisbits.ParseLayout(f.redis.layout, f.columns.EventName)
	if err != nil {
		return &usageError{err}
	}
	server, err := connectRedis(ctx, f.redis.address)
	if err != nil {
		return err
	}
	defer closeInto(&err, server)
	list, err := server.List(ctx, layout, f.redis.match)
	switch {
	case errors.Is(err, redisbits.ErrManyKeys):
		return fmt.Errorf("%w; choose fewer with --match", err)
	case err != nil:
		return err
	}
	refused, err := newRefusals(a, f, nothing)
	if err != nil {
		return err
	}
	defer closeInto(&err, refused)
	db, end, err := a.openNumbers(ctx, f)
	if err != nil {
		return err
	}
	defer closeInto(&err, end)
	if err := refused.begin("reason", "key", "id", "event", "time"); err != nil {
		return err
	}
	a.warnOfKeys(f.redis, list, db)

	loader, err := db.Load(ctx)
	if err != nil {
		return err
	}
	l := &redisLoad{
		app: a, server: server, offset: f.redis.offset, keys: list.Keys, refused: refused,
		figures: importFigures(f), skipped: list.Skipped,
	}
	stop, err := l.run(a, loader, list.Size, func(bar *progress) error { return l.mark(ctx, loader, bar) })
	if err != nil {
		return err
	}
	r := l.result([]string{server.Name()}, time.Since(start), refused)
	r.redisKeys = l.keysRead()
	a.warnOfSkipped(r.Skipped)
	return a.finishImport(r, stop)
}

// connectRedis connects to a Redis.
func connectRedis(ctx context.Context, address string) (*redisbits.Server, error) {
	server, err := redisbits.Connect(ctx, address, os.Getenv("REDISCLI_AUTH"))
	switch {
	case errors.Is(err, redisbits.ErrAddress):
		return nil, &usageError{err}
	case errors.Is(err, redisbits.ErrPassword):
		return nil, fmt.Errorf("%w; give a password in the address, redis://:PASSWORD@HOST, or in REDISCLI_AUTH", err)
	}
	return server, err
}

// openNumbers opens or creates a store of number ids, as openToImport does.
func (a *app) openNumbers(ctx context.Context, f importFlags) (db *store.DB, end io.Closer, err error) {
	c := &f.creation
	c.ids = placement.Number
	db, end, err = a.openToImport(ctx, f)
	if errors.Is(err, store.ErrMismatch) && c.zone == "" && c.weekStart == 0 {
		err = fmt.Errorf("%w: the positions of bits are numbers; name another store with --db", err)
	}
	return db, end, err
}

// warnOfKeys warns where the keys found are perhaps not what was meant.
func (a *app) warnOfKeys(f redisFlags, list redisbits.Listing, db *store.DB) {
	if len(list.Keys) == 0 {
		a.warnf("no key to import: is the layout %s, and this the database?", f.layout)
	}
	if zone := db.Config().TimeZone.String(); f.layout == "bitmapist" && zone != "UTC" {
		a.warnf("the days of bitmapist are days of UTC, those of the store of %s", zone)
	}
}

// warnOfSkipped names skipped keys, the first few for each reason.
func (a *app) warnOfSkipped(skipped []skippedKey) {
	const shown = 3
	names := map[redisbits.Reason][]string{}
	for _, k := range skipped {
		names[k.Reason] = append(names[k.Reason], k.Key)
	}
	for _, reason := range slices.Sorted(maps.Keys(names)) {
		keys := names[reason]
		var list []string
		for _, name := range keys[:min(len(keys), shown)] {
			list = append(list, clip(name))
		}
		more := ""
		if len(keys) > shown {
			more = "; --json names them all"
		}
		a.warnf("%d skipped as %s: %s%s", len(keys), reason, strings.Join(list, ", "), more)
	}
}
