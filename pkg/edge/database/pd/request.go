package pd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// maxError bounds the body of an error.
const maxError = 64 << 10

// request is a request to a member.
type request struct {
	method, path string
	body         any // encoded as JSON; nil sends none
	out          any // decoded from JSON, unless it is one of texts; nil drops the answer
	// date, if it is not nil, becomes the date of the answer by the member's clock; zero if the answer has none.
	date *time.Time
	// local asks the member itself; without it a follower forwards to the leader.
	local bool
}

func (r request) build(ctx context.Context, url string) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, url+r.path, body)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.local {
		req.Header.Set("PD-Allow-Follower-Handle", "true")
	}
	return req, nil
}

// decodeError reports a successful answer whose body cannot be decoded; to repeat the request would give the same.
type decodeError struct {
	url string
	err error
}

func (e *decodeError) Error() string { return fmt.Sprintf("decode answer of %s: %v", e.url, e.err) }
func (e *decodeError) Unwrap() error { return e.err }

// streamed is an answer that is decoded while it is read. As a whole the answer would take too much memory.
type streamed interface {
	decode(from *json.Decoder) error
}

// texts is an answer that is no JSON, and is read in parts.
type texts interface {
	readText(from io.Reader) error
}

// readResponse decodes an answer. It reads the whole body of an answer that can be used. Otherwise the connection
// cannot be reused, and over a port-forward other streams of the pod would block.
func readResponse(resp *http.Response, out any) error {
	defer resp.Body.Close()
	asked := resp.Request.URL
	if resp.StatusCode/100 != 2 {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
		if err != nil {
			return fmt.Errorf("read answer of %s: %w", asked, err)
		}
		message, foreign := messageOf(body)
		return &StatusError{
			Method: resp.Request.Method, URL: asked.String(),
			Code: resp.StatusCode, Message: message, foreign: foreign,
		}
	}
	limits := limitsOf(asked.Path)
	whole := &whole{from: resp.Body}
	var err error
	switch out := out.(type) {
	case nil:
		_, err = io.Copy(io.Discard, io.LimitReader(whole, limits.Bytes))
	case streamed:
		from := json.NewDecoder(ask.Within(whole, limits))
		if err = out.decode(from); err == nil {
			err = endOfJSON(from)
		}
	case texts:
		in := &io.LimitedReader{R: whole, N: limits.Bytes + 1}
		if err = out.readText(in); err == nil && in.N <= 0 {
			err = fmt.Errorf("%w in bytes", ask.ErrTooLarge)
		}
	default:
		err = ask.Decode(resp.Request.Context(), whole, limits, out)
	}
	switch {
	case err == nil:
		return nil
	case whole.err != nil:
		return fmt.Errorf("read answer of %s: %w", asked, whole.err)
	case resp.Request.Context().Err() != nil:
		return resp.Request.Context().Err()
	}
	return &decodeError{url: asked.String(), err: err}
}

// whole notes why a body could not be read up to its end. The same request may succeed then, while a request whose
// text is wrong does not.
type whole struct {
	from io.Reader
	err  error
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// endOfJSON returns an error if there is more after a JSON text.
func endOfJSON(from *json.Decoder) error {
	if _, err := from.Token(); err == io.EOF {
		return nil
	}
	return errors.New("there is more after the answer")
}

// messageOf returns PD's message in an error body. That is a JSON string, which schedulers encode twice, and plain
// text for an unknown path. From v5.4 to v7.1 a refused scheduler is answered by two JSON strings, the second of
// which claims success. So only the first value counts, and what is no JSON is taken as it is. Such a text is
// foreign, unless PD writes it without JSON. What else answers with a page of its own is no PD.
func messageOf(body []byte) (message string, foreign bool) {
	text := strings.TrimSpace(string(body))
	foreign = true
	for range 2 {
		var s string
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&s); err != nil {
			break
		}
		text, foreign = strings.TrimSpace(s), false
	}
	if foreign {
		foreign = !plain(text)
	}
	if len(text) > 1024 {
		text = text[:1024] + "…"
	}
	return text, foreign
}

// plain reports whether PD or its etcd answers a text as it is, without JSON.
func plain(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	if line == "404 page not found" || strings.HasPrefix(line, "[PD:") {
		return true
	}
	for known := range transientTexts {
		if strings.HasPrefix(line, known) {
			return true
		}
	}
	return false
}
