package main

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"cohort/placement"
	"cohort/query"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/axiomhq/hyperloglog"
	"github.com/redis/go-redis/v9"
)

var memorySection = section{
	name:  "memory",
	title: "what a day's set of ids takes, in memory and on disk",
	about: "One set of branded ids, each structure made in a process of its own, whose heap is read after a collection; flat bitmaps are byte slices up to the highest position. " +
		"Over placements that is 512 MiB whatever the number of ids; over dense numbers, which someone must hand out and remember, a bit an id. " +
		"In Redis MEMORY USAGE of the one key, a bitmap over placements, one over dense numbers, and a set of the ids. " +
		"The store's file is that of one day and the registry, closed; its memory is the process's RssAnon after it was opened and the day counted, with the Go runtime's own, some 3 MB.",
	run: runMemory,
}

// structure is one way to hold a set of ids.
type structure struct {
	name  string
	most  int // ids; more would not fit here
	bytes func(ctx context.Context, n int) (int64, error)
}

func runMemory(ctx context.Context, b *bench, r *result) error {
	inProcess := func(kind string) func(context.Context, int) (int64, error) {
		return func(ctx context.Context, n int) (int64, error) { return b.memoryOf(ctx, kind, n, "") }
	}
	all := []structure{
		{"flat over placements", 1 << 30, inProcess("flat placements")},
		{"flat over dense numbers", 1 << 30, inProcess("flat numbers")},
		{"Go map of placements", 1 << 27, inProcess("map")},
		{"roaring over placements", 1 << 30, inProcess("roaring")},
		{"HyperLogLog, 1 % off", 1 << 30, inProcess("hyperloglog")},
	}
	server, err := startRedis(ctx)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		r.note("Without Redis: it needs redis-server (apt-get install redis-server).")
	case err != nil:
		return err
	default:
		defer server.stop()
		all = append(all,
			structure{"Redis bitmap, placements", 1 << 30, server.bitmapOfPlacements},
			structure{"Redis bitmap, numbers", 1 << 30, server.bitmapOfNumbers},
			structure{"Redis set of ids", 10_000_000, server.setOfIDs(b.seed)})
	}
	for _, p := range []store.Positions{store.Hashed, store.Dense} {
		all = append(all,
			structure{fmt.Sprintf("store, %s: file", p), 1 << 30, func(ctx context.Context, n int) (int64, error) { return b.storeFile(ctx, p, n) }},
			structure{fmt.Sprintf("store, %s: memory", p), 1 << 30, func(ctx context.Context, n int) (int64, error) {
				return b.memoryOf(ctx, "store", n, b.dayStore(p, n))
			}})
	}
	columns := []string{"bytes"}
	for _, n := range b.memorySizes {
		columns = append(columns, thousands(int64(n))+" ids")
	}
	t := r.table(columns...)
	drawn := chart{name: "memory", title: "a set of ids", x: "ids", y: "bytes", at: b.memorySizes}
	for _, s := range all {
		row := []any{s.name}
		var values []float64
		for _, n := range b.memorySizes {
			if n > s.most {
				row = append(row, nil)
				continue
			}
			bytes, err := s.bytes(ctx, n)
			if err != nil {
				return fmt.Errorf("%s, %d ids: %w", s.name, n, err)
			}
			row = append(row, bytes)
			values = append(values, float64(bytes))
		}
		t.row(row...)
		drawn.lines = append(drawn.lines, line{s.name, values})
		b.logf("%s", s.name)
	}
	r.chart(drawn)
	r.note("A Redis set is not measured above 10 million ids: the 72 bytes an id that it takes would be most of the memory of the machine this was written for. Above as many ids the store is loaded in order of placement; its file is the same.")
	r.note("Where ids are dense numbers already, a flat bitmap wins: a hashed store takes about 16 bits an id, a dense one little more than the bitmap. " +
		"What the store adds is the registry, which hands the numbers out, counts collisions and turns positions into ids again.")
	return nil
}

// memoryOf has a child hold a set and returns what that takes.
func (b *bench) memoryOf(ctx context.Context, kind string, n int, path string) (int64, error) {
	cmd, err := childCommand(ctx, "memory", kind, strconv.Itoa(n), strconv.FormatUint(b.seed, 10), path)
	if err != nil {
		return 0, err
	}
	var bytes int64
	_, err = watch(cmd, &bytes)
	return bytes, err
}

// memoryChild holds a set of ids and returns the bytes that it takes.
func memoryChild(args []string) (int64, error) {
	if len(args) != 4 {
		return 0, fmt.Errorf("memory: %d arguments", len(args))
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return 0, err
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return 0, err
	}
	if args[0] == "store" {
		return storeMemory(args[3], n)
	}
	before := heap()
	set, count, err := holdSet(args[0], brandedIDs(seed), n)
	if err != nil {
		return 0, err
	}
	bytes := heap() - before
	if got := count(); args[0] != "hyperloglog" && !nearly(got, n) {
		return 0, fmt.Errorf("wrong answer: %s of %d ids has %d", args[0], n, got)
	}
	runtime.KeepAlive(set)
	return bytes, nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// holdSet makes a set of the first n ids, and a function that counts it.
func holdSet(kind string, of idOf, n int) (set any, count func() int, err error) {
	each := func(f func(placement.Mixed)) {
		for i := range n {
			_, m, parseErr := placement.Branded.Parse(of(i))
			err = errors.Join(err, parseErr)
			f(m)
		}
	}
	flat := func(highest uint32, at func(i int, m placement.Mixed) uint32) (any, func() int) {
		bits := make(bitset, highest/64+1)
		i := 0
		each(func(m placement.Mixed) {
			pos := at(i, m)
			bits[pos/64] |= 1 << (pos % 64)
			i++
		})
		return bits, bits.count
	}
	switch kind {
	case "flat placements":
		highest := uint32(0)
		each(func(m placement.Mixed) { highest = max(highest, m.Placement()) })
		set, count = flat(highest, func(_ int, m placement.Mixed) uint32 { return m.Placement() })
	case "flat numbers":
		set, count = flat(uint32(n-1), func(i int, _ placement.Mixed) uint32 { return uint32(i) })
	case "map":
		m := make(map[uint32]struct{})
		each(func(x placement.Mixed) { m[x.Placement()] = struct{}{} })
		set, count = m, func() int { return len(m) }
	case "roaring":
		r := roaring.New()
		each(func(m placement.Mixed) { r.Add(m.Placement()) })
		r.RunOptimize()
		set, count = r, func() int { return int(r.GetCardinality()) }
	case "hyperloglog":
		h := hyperloglog.New14()
		each(func(m placement.Mixed) { h.InsertHash(uint64(m)) })
		set, count = h, func() int { return min(n, int(h.Estimate())) }
	default:
		return nil, nil, fmt.Errorf("memory: no structure %q", kind)
	}
	return set, count, err
}

func (b *bench) dayStore(p store.Positions, n int) string {
	return b.path(fmt.Sprintf("%s-%d.db", p, n))
}

// storeFile makes a store of one day and returns the size of its file.
func (b *bench) storeFile(ctx context.Context, p store.Positions, n int) (int64, error) {
	path := b.dayStore(p, n)
	db, err := store.Open(path, &store.Options{Create: store.CreateOnly, Positions: p})
	if err != nil {
		return 0, err
	}
	of := brandedIDs(b.seed)
	if n > byPlacement {
		if of, err = inOrder(of, n); err != nil {
			return 0, errors.Join(err, db.Close())
		}
	}
	err = loadEach(ctx, db, markedEvent, markedDay, n, of)
	if err := errors.Join(err, db.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// byPlacement is from how many ids on they are loaded in order of placement: otherwise
// each batch of a load rewrites the whole registry.
const byPlacement = 10_000_000

// inOrder returns the first n ids in order of placement.
func inOrder(of idOf, n int) (idOf, error) {
	all := make([]uint64, n) // with the placement on top
	for i := range all {
		_, m, err := placement.Branded.Parse(of(i))
		if err != nil {
			return nil, err
		}
		all[i] = bits.RotateLeft64(uint64(m), 32)
	}
	slices.Sort(all)
	return func(i int) string {
		m := placement.Mixed(bits.RotateLeft64(all[i], 32))
		return placement.BrandedID{Brand: placement.Brand{'U', 'S', 'R'}, Snowflake: m.Snowflake()}.String()
	}, nil
}

// loadEach loads the first n ids on one day without holding them all.
func loadEach(ctx context.Context, db *store.DB, event string, day store.Day, n int, of idOf) error {
	l, err := db.Load(ctx)
	if err != nil {
		return err
	}
	for i := 0; i < n && err == nil; i++ {
		err = l.Add(event, of(i), day)
	}
	_, closeErr := l.Close()
	return errors.Join(err, closeErr)
}

// storeMemory opens a store, counts its day, and returns the process's anonymous
// memory.
func storeMemory(path string, n int) (int64, error) {
	db, err := store.Open(path, &store.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	got, err := query.Count(context.Background(), db, markedEvent, query.Day(markedDay))
	if err == nil && !nearly(int(got), n) {
		err = fmt.Errorf("wrong answer: the day of %d ids has %d", n, got)
	}
	bytes, rssErr := rssAnon("self")
	return bytes, errors.Join(err, rssErr, db.Close())
}

// redisServer is a Redis of its own, on a socket, that keeps nothing on disk.
type redisServer struct {
	cmd    *exec.Cmd
	dir    string
	client *redis.Client
}

func startRedis(ctx context.Context) (*redisServer, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-redis") // a socket's path has 107 bytes at most
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	s := &redisServer{dir: dir, cmd: exec.Command(path, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--logfile", filepath.Join(dir, "log"))}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.client = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, ReadTimeout: time.Minute})
	for range 200 {
		if err = s.client.Ping(ctx).Err(); err == nil {
			return s, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.stop()
	return nil, err
}

func (s *redisServer) stop() {
	_ = s.client.Close()
	_ = s.cmd.Process.Kill() // what it holds is not wanted any more
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

// used returns what a key takes, and deletes it.
func (s *redisServer) used(ctx context.Context, key string) (int64, error) {
	n, err := s.client.MemoryUsage(ctx, key, 0).Result()
	return n, errors.Join(err, s.client.Del(ctx, key).Err())
}

// bitmapOfPlacements measures a bitmap with its highest bit alone: a bitmap takes
// what its highest bit says.
func (s *redisServer) bitmapOfPlacements(ctx context.Context, n int) (int64, error) {
	highest := int64(placement.Placements - 1 - placement.Placements/int64(n+1))
	if err := s.client.SetBit(ctx, "placements", highest, 1).Err(); err != nil {
		return 0, err
	}
	return s.used(ctx, "placements")
}

func (s *redisServer) bitmapOfNumbers(ctx context.Context, n int) (int64, error) {
	if err := s.client.SetBit(ctx, "numbers", int64(n-1), 1).Err(); err != nil {
		return 0, err
	}
	return s.used(ctx, "numbers")
}

func (s *redisServer) setOfIDs(seed uint64) func(context.Context, int) (int64, error) {
	of := brandedIDs(seed)
	return func(ctx context.Context, n int) (int64, error) {
		for first := 0; first < n; first += 10_000 {
			var ids []any
			for _, id := range of.ids(first, min(10_000, n-first)) {
				ids = append(ids, id)
			}
			if err := s.client.SAdd(ctx, "ids", ids...).Err(); err != nil {
				return 0, err
			}
		}
		if got, err := s.client.SCard(ctx, "ids").Result(); err != nil || int(got) != n {
			return 0, errors.Join(err, fmt.Errorf("the set has %d ids, not %d", got, n))
		}
		return s.used(ctx, "ids")
	}
}
