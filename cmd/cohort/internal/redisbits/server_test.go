package redisbits_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"cohort/cmd/cohort/internal/redisbits"
	"cohort/cmd/cohort/internal/redistest"
)

// connect connects to a server, until the test ends.
func connect(t testing.TB, address string) *redisbits.Server {
	t.Helper()
	s, err := redisbits.Connect(t.Context(), address, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConnect(t *testing.T) {
	const secret = "s/e@cret"
	r := redistest.Start(t, "--requirepass", secret)
	for _, test := range []struct {
		name, address, password string
		want                    error
	}{
		{"host and port", r.Addr, secret, nil},
		{"URL", "redis://:s%2Fe%40cret@" + r.Addr, "", nil},
		{"URL with user and database", "redis://default:s%2Fe%40cret@" + r.Addr + "/3", "wrong", nil},
		{"URL, password apart", "redis://" + r.Addr, secret, nil},
		{"socket", "unix://:s%2Fe%40cret@" + r.Socket, "", nil},
		{"socket and database", "unix://" + r.Socket + "?db=2", secret, nil},
		{"no password", r.Addr, "", redisbits.ErrPassword},
		{"wrong password", r.URL(), "wrong", redisbits.ErrPassword},
		{"wrong password in the URL", "redis://:wrong@" + r.Addr, "", redisbits.ErrPassword},
		{"no port", "localhost", "", redisbits.ErrAddress},
		{"no host", ":6379", "", redisbits.ErrAddress},
		{"empty", "", "", redisbits.ErrAddress},
		{"another scheme", "http://" + r.Addr, "", redisbits.ErrAddress},
		{"a database that is none", "redis://" + r.Addr + "/x", "", redisbits.ErrAddress},
		{"an option that is none", r.URL() + "?databse=1", "", redisbits.ErrAddress},
		{"a password not escaped", "redis://:s/e@cret@" + r.Addr, "", redisbits.ErrAddress},
		{"a password not escaped, of digits", "redis://:12/3@" + r.Addr, "", redisbits.ErrAddress},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := redisbits.Connect(t.Context(), test.address, test.password)
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if err != nil {
				for _, part := range []string{"cret", "12/3", "\n"} {
					if strings.Contains(err.Error(), part) {
						t.Errorf("%q has %q in it", err, part)
					}
				}
				return
			}
			if strings.Contains(s.Name(), "cret") {
				t.Errorf("the name %q has the password in it", s.Name())
			}
			for range 2 {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	for _, address := range []string{"127.0.0.1:1", "redis://127.0.0.1:1", "unix:///no/such/socket"} {
		start := time.Now()
		_, err := redisbits.Connect(t.Context(), address, "")
		if err == nil || !strings.HasPrefix(err.Error(), address+": connect: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", address, err)
		}
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("%s: refused after %v", address, took)
		}
	}
}

// A server that never answers can be interrupted.
func TestInterruptConnect(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	start := time.Now()
	if _, err := redisbits.Connect(ctx, l.Addr().String(), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("interrupted after %v", took)
	}
}

// What does not speak the protocol gives an error.
func TestConnectNotRedis(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = c.Close()
		}
	}()
	if _, err := redisbits.Connect(t.Context(), l.Addr().String(), ""); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
