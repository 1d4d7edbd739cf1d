// Command service serves one store over HTTP: single marks, streams of them, and
// questions. It is an example to copy from; docs/embedding.md says why it is as
// it is.
//
//	go run ./docs/service -db example.db &
//	curl -X POST localhost:8080/marks/active/PLR0KHTOWnGLuC
//	curl 'localhost:8080/actives/active'
//	curl --get localhost:8080/count --data-urlencode 'set=active[7d] - paid[all]'
//	curl --data-binary @marks.jsonl localhost:8080/marks
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"cohort/store"
)

func main() {
	path := flag.String("db", "cohort.db", "the store's `file`")
	address := flag.String("listen", "localhost:8080", "`address` to serve on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err == nil {
		log.Printf("serving %s on http://%s", *path, listener.Addr())
		err = run(ctx, *path, listener)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run opens the store and serves it until ctx ends. It closes the listener, and the
// store after the last request.
func run(ctx context.Context, path string, listener net.Listener) (err error) {
	defer listener.Close()
	db, err := store.Open(path, &store.Options{
		LockTimeout: 30 * time.Second, // the process before this one may be closing it
		Logger:      slog.Default(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return serve(ctx, &http.Server{
		Handler:           newHandler(db, 2*time.Second),
		ReadHeaderTimeout: 5 * time.Second,
	}, listener)
}

// serve serves until ctx ends, and returns when the requests under way are
// answered, or after ten seconds cut off.
func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("shutdown: %w", errors.Join(err, server.Close()))
	}
	return nil
}
