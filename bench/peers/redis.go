package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
)

// flatBitmaps is a Redis with a bitmap for each event and day over the people's
// numbers, the densest there is.
type flatBitmaps struct {
	cmd    *exec.Cmd
	dir    string
	client *redis.Client
	people int
}

// errNoRedis says that there is no Redis to compare with.
var errNoRedis = errors.New("needs redis-server: apt-get install redis-server")

// openRedis starts a server on a socket; durable has it sync every write.
func openRedis(ctx context.Context, durable bool, w *workload) (*flatBitmaps, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errNoRedis
	}
	dir, err := os.MkdirTemp("", "peers-redis") // a socket's path has 107 bytes at most
	if err != nil {
		return nil, err
	}
	settings := []string{"--appendonly", "no"}
	if durable {
		settings = []string{"--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"}
	}
	socket := filepath.Join(dir, "s")
	r := &flatBitmaps{dir: dir, people: w.people}
	r.cmd = exec.Command(path, append([]string{"--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--logfile", filepath.Join(dir, "log")}, settings...)...)
	if err := r.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r.client = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, ReadTimeout: time.Minute, WriteTimeout: time.Minute, PoolSize: 128})
	for range 200 {
		if err = r.client.Ping(ctx).Err(); err == nil {
			return r, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil, errors.Join(err, r.close())
}

func key(event, day int) string { return fmt.Sprintf("%s:%02d", events[event].name, day) }

// pipelined is how many commands go to the server at a time.
const pipelined = 10_000

func (r *flatBitmaps) load(ctx context.Context, w *workload) error {
	p := r.client.Pipeline()
	err := w.each(func(e, d, person int) error {
		p.SetBit(ctx, key(e, d), int64(person), 1)
		if p.Len() < pipelined {
			return nil
		}
		_, err := p.Exec(ctx)
		return err
	})
	if err != nil || p.Len() == 0 {
		return err
	}
	_, err = p.Exec(ctx)
	return err
}

// ask sends all commands of a question at once, in a transaction.
func (r *flatBitmaps) ask(ctx context.Context, q question) ([]uint64, error) {
	p := r.client.TxPipeline()
	var counts []*redis.IntCmd
	count := func(key string) { counts = append(counts, p.BitCount(ctx, key, nil)) }
	keys := func(event, from, to int) (keys []string) {
		for d := from; d < to; d++ {
			keys = append(keys, key(event, d))
		}
		return keys
	}
	funnel := func(step func(event int) string) {
		left := step(0)
		count(left)
		for e := 1; e < len(events); e++ {
			p.BitOpAnd(ctx, "tmp:left", left, step(e))
			left = "tmp:left"
			count(left)
		}
	}
	switch q {
	case dayCount:
		count(key(0, days-1))
	case union7:
		p.BitOpOr(ctx, "tmp", keys(0, days-7, days)...)
		count("tmp")
	case union30:
		p.BitOpOr(ctx, "tmp", keys(0, 0, days)...)
		count("tmp")
	case retention7:
		count(key(0, 0))
		p.BitOpAnd(ctx, "tmp", key(0, 0), key(0, 7))
		count("tmp")
	case triangle:
		p.Del(ctx, "tmp:seen")
		for d := range days {
			// The cohort is the day without those seen: seen | day, xor seen.
			p.BitOpOr(ctx, "tmp:both", "tmp:seen", key(0, d))
			p.BitOpXor(ctx, "tmp:cohort", "tmp:both", "tmp:seen")
			p.Rename(ctx, "tmp:both", "tmp:seen")
			for back := d; back < days; back++ {
				p.BitOpAnd(ctx, "tmp", "tmp:cohort", key(0, back))
				count("tmp")
			}
		}
	case dayFunnel:
		funnel(func(e int) string { return key(e, days-1) })
	case monthFunnel:
		funnel(func(e int) string {
			to := fmt.Sprint("tmp:", e)
			p.BitOpOr(ctx, to, keys(e, 0, days)...)
			return to
		})
	case calendar:
		for d := range days {
			counts = append(counts, p.GetBit(ctx, key(0, d), int64(someone%r.people)))
		}
	}
	if _, err := p.Exec(ctx); err != nil {
		return nil, err
	}
	var answer []uint64
	for i, c := range counts {
		switch {
		case q != calendar:
			answer = append(answer, uint64(c.Val()))
		case c.Val() == 1:
			answer = append(answer, uint64(i))
		}
	}
	return answer, nil
}

func (r *flatBitmaps) mark(ctx context.Context, person int) error {
	return r.client.SetBit(ctx, key(0, days), int64(person), 1).Err()
}

// marksDurably is true of another Redis, which syncs.
func (r *flatBitmaps) marksDurably() bool { return true }

// bytes is the memory that Redis counts for its keys, with what it rounds up.
func (r *flatBitmaps) bytes() (n int64, err error) {
	ctx := context.Background()
	for e := range events {
		for d := range days {
			used, err := r.client.MemoryUsage(ctx, key(e, d)).Result()
			if err != nil {
				return 0, err
			}
			n += used
		}
	}
	return n, nil
}

func (r *flatBitmaps) close() error {
	err := r.client.Close()
	_ = r.cmd.Process.Kill() // its marks are not wanted any more
	_ = r.cmd.Wait()
	return errors.Join(err, os.RemoveAll(r.dir))
}
