package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// handler answers requests from the one store that all of them share.
type handler struct {
	db      *store.DB
	timeout time.Duration // of a request that is not a stream
}

func newHandler(db *store.DB, timeout time.Duration) http.Handler {
	h := &handler{db, timeout}
	mux := http.NewServeMux()
	mux.Handle("POST /marks/{event}/{id}", h.answer(h.mark))
	mux.Handle("GET /count", h.answer(h.count))
	mux.Handle("GET /actives/{event}", h.answer(h.actives))
	mux.HandleFunc("POST /marks", h.stream)
	return mux
}

// answer makes a handler of a function whose result is written as JSON. The context
// of the request ends when the client goes, or at the deadline.
func (h *handler) answer(f func(context.Context, *http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), h.timeout)
		defer cancel()
		result, err := f(ctx, r)
		if err != nil {
			fail(w, r, err, nil)
			return
		}
		write(w, http.StatusOK, result)
	})
}

// mark records that the id of the path did the event today.
func (h *handler) mark(ctx context.Context, r *http.Request) (any, error) {
	result, err := h.db.Mark(ctx, r.PathValue("event"), r.PathValue("id"), h.db.Today())
	return map[string]string{"result": result.String()}, err
}

// count tells the size of a set, one question.
func (h *handler) count(ctx context.Context, r *http.Request) (any, error) {
	set, err := query.Parse(r.URL.Query().Get("set"))
	if err != nil {
		return nil, err
	}
	size, err := query.Size(ctx, h.db, set)
	return map[string]uint64{"count": size.Count}, err
}

// actives asks three questions of one snapshot, so that no mark falls in between:
// the month is never smaller than the day.
func (h *handler) actives(ctx context.Context, r *http.Request) (any, error) {
	snap, err := h.db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	result := map[string]uint64{}
	for name, period := range map[string]query.Period{"day": query.Today(), "week": query.Last(7), "month": query.Last(30)} {
		if result[name], err = query.Count(ctx, snap, r.PathValue("event"), period); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// stream marks the lines of the body, as they come: {"event":…,"id":…,"day":…}.
// Whether it ends well or not, the answer tells how many marks are on disk.
func (h *handler) stream(w http.ResponseWriter, r *http.Request) {
	var bad error                     // why the body ended early
	lines := bufio.NewScanner(r.Body) // of at most 64 KiB
	tally, err := h.db.MarkMany(r.Context(), func(yield func(store.Mark) bool) {
		for lines.Scan() {
			var row struct{ Event, ID, Day string }
			if bad = json.Unmarshal(lines.Bytes(), &row); bad != nil {
				return
			}
			m := store.Mark{Event: row.Event, ID: row.ID}
			if m.Day, bad = store.ParseDay(row.Day); bad != nil || !yield(m) {
				return
			}
		}
		bad = lines.Err()
	})
	if err == nil && bad != nil {
		err = fmt.Errorf("%w: mark %d: %w", errBody, tally.Marks(), bad)
	}
	if err != nil {
		fail(w, r, err, &tally)
		return
	}
	write(w, http.StatusOK, tally)
}

// errBody: the body of a request is not what it should be.
var errBody = errors.New("body")

// status returns the HTTP status of an error.
func status(err error) int {
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	switch {
	case is(errBody, query.ErrUsage, placement.ErrInvalidID, store.ErrInvalidEvent, store.ErrInvalidDay, store.ErrFutureDay):
		return http.StatusBadRequest
	case is(store.ErrOtherBrand): // the event is of another brand than the id
		return http.StatusConflict
	case is(context.Canceled, context.DeadlineExceeded, store.ErrClosed): // busy, or on the way out
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError // a full disk, damage: the store's own words are for the log
}

// fail writes an error, with what is on disk all the same where there is such.
func fail(w http.ResponseWriter, r *http.Request, err error, tally *store.Tally) {
	code, text := status(err), err.Error()
	switch code {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusInternalServerError:
		log.Printf("%s %s: %v", r.Method, r.URL.Path, err)
		text = http.StatusText(code)
	}
	write(w, code, struct {
		Error  string       `json:"error"`
		OnDisk *store.Tally `json:"on_disk,omitempty"`
	}{text, tally})
}

func write(w http.ResponseWriter, code int, result any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(result); err != nil {
		log.Print(err) // the client is gone
	}
}
