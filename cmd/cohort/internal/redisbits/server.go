package redisbits

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

var (
	// ErrAddress: a text that is no address of a Redis.
	ErrAddress = errors.New("invalid address")
	// ErrPassword: the server wants a password, or another one.
	ErrPassword = errors.New("access refused")
)

// How long to wait for a connection and for a reply, unless the address says. A
// command that fails for the network is sent again, maxRetries times.
const (
	dialTimeout = 5 * time.Second
	readTimeout = 10 * time.Second
	maxRetries  = 3
)

// Server is a connection to a Redis. It is for one goroutine at a time.
type Server struct {
	client *redis.Client
	name   string
}

// Connect connects to a server and checks that it answers. The address is
// host:port, a URL redis://[USER:PASSWORD@]HOST[:PORT][/DB] (rediss:// for TLS),
// or unix://[USER:PASSWORD@]/PATH[?db=N]. The password is used where the address
// has none.
//
// An address that cannot be read is ErrAddress, a wrong password ErrPassword;
// other errors are those of the network and of the server. No error has the
// password in it.
//
// The client library's own log, which would go to standard error, is turned off
// for the process.
func Connect(ctx context.Context, address, password string) (*Server, error) {
	options, name, err := parseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	if options.Password == "" {
		options.Password = password
	}
	if options.DialTimeout == 0 {
		options.DialTimeout = dialTimeout
	}
	if options.ReadTimeout == 0 {
		options.ReadTimeout = readTimeout
	}
	options.MaxRetries = maxRetries
	options.DialerRetries = 1 // the retries above dial again
	options.Protocol = 2      // nothing here needs a newer one
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.PoolSize, options.PipelinePoolSize = 1, -1
	logging.Disable()
	s := &Server{client: redis.NewClient(options), name: name}
	if err := s.do(ctx, func() error { return s.client.Ping(ctx).Err() }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// parseAddress returns how to connect to an address, and its name without
// password.
func parseAddress(address string) (*redis.Options, string, error) {
	if !strings.Contains(address, "://") {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "" || port == "" {
			return nil, "", fmt.Errorf("%q is neither HOST:PORT nor a URL such as redis://HOST or unix:///PATH", address)
		}
		return &redis.Options{Addr: address}, address, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.User == nil && strings.Contains(address, "@") {
		// The reason could have the password, or a part of it, in it.
		return nil, "", errors.New("the URL cannot be read; in a password write / and @ as %2F and %40")
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, "", errors.New(strings.TrimPrefix(err.Error(), "redis: "))
	}
	u.User = nil
	return options, u.String(), nil
}

// Name returns the address without user and password.
func (s *Server) Name() string { return s.name }

// Close closes the connection. Closing again does nothing.
func (s *Server) Close() error {
	if err := s.client.Close(); !errors.Is(err, redis.ErrClosed) {
		return err
	}
	return nil
}

// do runs commands. When ctx ends it closes the connection, for the client does
// not look at ctx while it waits for a reply.
func (s *Server) do(ctx context.Context, commands func() error) error {
	stop := context.AfterFunc(ctx, func() {
		_ = s.client.Close() // ctx's error is the one to tell
	})
	err := commands()
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.explain(err)
}

// explain puts the name of the server before an error, and what is wrong first.
func (s *Server) explain(err error) error {
	if err == nil {
		return nil
	}
	for _, prefix := range []string{"NOAUTH", "WRONGPASS", "invalid password", "AUTH <password>", "AUTH called without"} {
		if redis.HasErrorPrefix(err, prefix) {
			return fmt.Errorf("%s: %w: %w", s.name, ErrPassword, err)
		}
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // without addresses and "dial tcp"
	}
	return fmt.Errorf("%s: %w", s.name, err)
}
