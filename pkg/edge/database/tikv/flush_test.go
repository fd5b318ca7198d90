package tikv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// frame is a message of gRPC.
func frame(message string) string {
	return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))) + message //nolint:gosec // it is short
}

// result is one result in an answer: field 1 of the message.
func result(task string, success byte, problem string) string {
	one := "\x0a" + string(rune(len(task))) + task + "\x10" + string([]byte{success})
	if problem != "" {
		one += "\x1a" + string(rune(len(problem))) + problem
	}
	return "\x0a" + string(rune(len(one))) + one
}

// store serves gRPC over HTTP/2, with or without TLS.
func store(t *testing.T, secure bool, answer http.HandlerFunc) (*http.Transport, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.ProtoMajor != 2 || r.URL.Path != flushPath || r.Method != http.MethodPost || string(body) != frame("") || r.Header.Get("Te") != "trailers" {
			t.Errorf("%s %s %s %q %v", r.Proto, r.Method, r.URL, body, r.Header)
		}
		w.Header().Set("Content-Type", "application/grpc")
		answer(w, r)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP2(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	over := &http.Transport{}
	if secure {
		s.EnableHTTP2 = true
		s.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		over.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	t.Cleanup(over.CloseIdleConnections)
	return over, s.URL
}

func answers(body, status, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		_, _ = io.WriteString(w, body)
		w.Header().Set("Grpc-Status", status)
		w.Header().Set("Grpc-Message", message)
	}
}

// TestFlush: each task's result is returned. What is no answer of TiKV is an error.
func TestFlush(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   []Flushed
		err    string
	}{
		"no task":     {answer: answers(frame(""), "0", "")},
		"one task":    {answer: answers(frame(result("pitr", 1, "")), "0", ""), want: []Flushed{{Task: "pitr"}}},
		"one of two":  {answer: answers(frame(result("a", 1, "")+result("b", 0, "no space")), "0", ""), want: []Flushed{{Task: "a"}, {"b", "no space"}}},
		"without why": {answer: answers(frame(result("a", 0, "")), "0", ""), want: []Flushed{{"a", "TiKV does not say why"}}},
		"it fails":    {answer: answers("", "14", "shutting%20down"), err: `gRPC status "14": "shutting down"`},
		"it does not know that": {answer: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Grpc-Status", "12") },
			err: ErrNoFlush.Error()},
		"a part of an answer":    {answer: answers(frame(result("pitr", 1, ""))[:9], "0", ""), err: errMalformed.Error()},
		"a wrong length":         {answer: answers(frame("\x0a\x7f"), "0", ""), err: errMalformed.Error()},
		"an answer without code": {answer: answers(frame(""), "", ""), err: "gRPC status"},
		"no gRPC":                {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, err: "503"},
	} {
		for _, secure := range []bool{false, true} {
			over, base := store(t, secure, tt.answer)
			got, err := Flush(t.Context(), over, base)
			if !slices.Equal(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s, TLS %t: %+v, %v", name, secure, got, err)
			}
			if name == "it does not know that" && !errors.Is(err, ErrNoFlush) {
				t.Errorf("%v", err)
			}
		}
	}
}

// TestFlushHangs: the time of the caller ends it.
func TestFlushHangs(t *testing.T) {
	over, base := store(t, false, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Flush(ctx, over, base); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
