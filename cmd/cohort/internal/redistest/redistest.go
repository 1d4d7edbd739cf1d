// Package redistest starts a Redis for a test.
package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a running Redis, empty at first, that keeps nothing on disk. It
// listens on a loopback port and on a socket in a folder of its own.
type Server struct {
	Addr   string // host:port
	Socket string // path
	Client *redis.Client
}

// URL returns the address of the socket.
func (s *Server) URL() string { return "unix://" + s.Socket }

// Start starts a server with settings such as "--requirepass", "secret", and
// ends it with the test. Where there is no redis-server the test is skipped, but
// fails in CI, where one must be.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("CI needs redis-server: apt-get install redis-server")
	case err != nil:
		t.Skip("needs redis-server: apt-get install redis-server")
	}
	// Another process may take the port between choosing and using it.
	for range 3 {
		var s *Server
		if s, err = start(t, path, settings); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func start(t testing.TB, path string, settings []string) (*Server, error) {
	// The path of a socket has 107 bytes at most; t.TempDir has the test's name.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Socket: filepath.Join(dir, "s")}
	cmd := exec.Command(path, append([]string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--unixsocket", s.Socket,
		"--dir", dir, "--save", "", "--appendonly", "no", "--logfile", filepath.Join(dir, "log"),
	}, settings...)...)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.Client = redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket, Password: password(settings)})
	end := func() error {
		// A signal to a process that has ended is an error of no account.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return errors.Join(s.Client.Close(), os.RemoveAll(dir))
	}
	if err := s.answers(t); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, errors.Join(fmt.Errorf("redis-server does not answer: %w\n%s", err, log), end())
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return s, nil
}

// answers waits until the server answers.
func (s *Server) answers(t testing.TB) error {
	var err error
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = s.Client.Ping(t.Context()).Err(); err == nil {
			return nil
		}
	}
	return err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// password returns the password among the settings.
func password(settings []string) string {
	for i, s := range settings {
		if s == "--requirepass" && i+1 < len(settings) {
			return settings[i+1]
		}
	}
	return ""
}

// SetBits sets bits of a key, by SETBIT in pipelines.
func (s *Server) SetBits(t testing.TB, key string, positions ...int64) {
	t.Helper()
	for len(positions) > 0 {
		n := min(len(positions), 10_000)
		_, err := s.Client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for _, pos := range positions[:n] {
				p.SetBit(t.Context(), key, pos, 1)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		positions = positions[n:]
	}
}

// Do sends a command.
func (s *Server) Do(t testing.TB, command ...any) {
	t.Helper()
	if err := s.Client.Do(t.Context(), command...).Err(); err != nil {
		t.Fatalf("%v: %v", command, err)
	}
}
