package wire

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"time"
)

// record is what a command and the world have said to each other, in order. A test compares the records of
// runs.
type record struct{ lines []string }

func (r *record) add(format string, of ...any) {
	if r != nil {
		r.lines = append(r.lines, time.Now().UTC().Format("15:04:05.000000000 ")+fmt.Sprintf(format, of...))
	}
}

// kept returns a handler whose requests and answers are kept in the record, where there is one.
func (w *World) kept(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if w.record == nil || watches(r) { // of a watch, the events are kept when they are sent
			w.record.add("%s %s %s", r.Method, r.Host, r.URL.RequestURI())
			h.ServeHTTP(out, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		a := &answer{ResponseWriter: out, code: http.StatusOK}
		defer func() {
			w.record.add("%s %s %s %s -> %d %x %.3000s", r.Method, r.Host, r.URL.RequestURI(), body, a.code, sha256.Sum256(a.body.Bytes()), a.body.Bytes())
		}()
		h.ServeHTTP(a, r)
	})
}

// answer keeps what a handler answers.
type answer struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

func (a *answer) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

func (a *answer) Write(p []byte) (int, error) {
	a.body.Write(p)
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
