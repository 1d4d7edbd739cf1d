package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cohort/query"
	"cohort/store"
)

// open opens a store on a fixed day, closed with the test.
func open(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(filepath.Join(t.TempDir(), "cohort.db"), &store.Options{
		Now: func() time.Time { return time.Date(2026, time.January, 30, 12, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Error(err)
		}
	})
	return db
}

// ask sends a request and returns its status and body.
func ask(h http.Handler, method, target, body string) (status int, answer string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestAnswers(t *testing.T) {
	h := newHandler(open(t), time.Minute)
	const line = `{"event":"active","id":"PLR0KHmdqEva9X","day":"2026-01-05"}` + "\n"
	for _, test := range []struct {
		request, body string
		status        int
		answer        string // its beginning
	}{
		{"POST /marks/active/PLR0KHTOWnGLuC", "", 200, `{"result":"new"}`},
		{"POST /marks/active/PLR0KHTOWnGLuC", "", 200, `{"result":"already"}`},
		{"POST /marks/active/PLR", "", 400, `{"error":"id \"PLR\": has 3 characters`},
		{"POST /marks/active/USR0KHTOWnGLuC", "", 409, `{"error":"event \"active\" belongs to brand PLR`},
		{"POST /marks", line + line, 200, `{"New":1,"Already":1,"Shared":0}`},
		{"POST /marks", line + "{}", 400, `{"error":"body: mark 1: `},
		{"POST /marks", line + "no", 400, `{"error":"body: mark 1: invalid`},
		{"POST /marks", line + strings.ReplaceAll(line, "PLR", "USR") + line, 409, `{"error":"mark 1: event \"active\" belongs`},
		{"POST /marks", strings.Repeat("x", 100_000), 400, `{"error":"body: mark 0: `},
		{"GET /actives/active", "", 200, `{"day":1,"month":2,"week":1}`},
		{"GET /count?set=active[2026-01]", "", 200, `{"count":2}`},
		{"GET /count?set=active[2026-13]", "", 400, `{"error":"expression, at byte 7`},
	} {
		method, target, _ := strings.Cut(test.request, " ")
		status, answer := ask(h, method, target, test.body)
		if status != test.status || !strings.HasPrefix(answer, test.answer) {
			t.Errorf("%s %.80q: %d %s, want %d %s", test.request, test.body, status, answer, test.status, test.answer)
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(answer), &fields); err != nil {
			t.Errorf("%s: %v", test.request, err)
		}
	}
}

// What cannot be done in time, or any more, is for another try.
func TestUnavailable(t *testing.T) {
	db := open(t)
	if status, answer := ask(newHandler(db, 0), "POST", "/marks/active/PLR0KHTOWnGLuC", ""); status != 503 {
		t.Errorf("past the deadline: %d %s", status, answer)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, request := range []string{"POST /marks/active/PLR0KHTOWnGLuC", "POST /marks", "GET /actives/active", "GET /count?set=seen"} {
		method, target, _ := strings.Cut(request, " ")
		if status, answer := ask(newHandler(db, time.Minute), method, target, ""); status != 503 {
			t.Errorf("%s of a closed store: %d %s", request, status, answer)
		}
	}
}

// A request that is under way when the service is told to stop is answered, and the
// store is closed after it.
func TestStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cohort.db")
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, path, listener) }()

	// The body is sent when the service asks for it.
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	body, lines := io.Pipe()
	request, err := http.NewRequest("POST", "http://"+listener.Addr().String()+"/marks", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Expect", "100-continue")
	answered := make(chan string, 1)
	go func() {
		response, err := client.Do(request)
		if err != nil {
			answered <- err.Error()
			return
		}
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			answered <- err.Error()
			return
		}
		answered <- response.Status + " " + strings.TrimSpace(string(text))
	}()
	send := func(id string) {
		t.Helper()
		if _, err := io.WriteString(lines, `{"event":"active","id":"`+id+`","day":"2026-01-30"}`+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	send("PLR0KHTOWnGLuC")
	stop()
	if _, err := store.Open(path, &store.Options{LockTimeout: time.Millisecond}); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a second process: %v", err)
	}
	time.Sleep(50 * time.Millisecond) // the service stops meanwhile
	send("PLR0KHmdqEva9X")
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := <-answered, `200 OK {"New":2,"Already":0,"Shared":0}`; got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}

	db, err := store.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n, err := query.Count(t.Context(), db, "active", query.All()); n != 2 || err != nil {
		t.Errorf("%d ids, %v", n, err)
	}
}
