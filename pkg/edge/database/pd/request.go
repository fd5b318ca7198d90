package pd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody bounds an answer; a list of ten thousand stores is about 10 MB.
const maxBody = 64 << 20

// request is a request for which the library has no method.
type request struct {
	method, path string
	body         any // encoded as JSON; nil sends none
	out          any // decoded from JSON; nil drops the answer
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

// readResponse decodes an answer, for the library's requests and ours. It always reads the whole body: otherwise the
// connection cannot be reused, and over a port-forward other streams of the pod would block.
func readResponse(resp *http.Response, out any) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("answer exceeds %d bytes", maxBody)
	}
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", resp.Request.URL, err)
	}
	if resp.StatusCode/100 != 2 {
		message, foreign := messageOf(body)
		return &StatusError{
			Method: resp.Request.Method, URL: resp.Request.URL.String(),
			Code: resp.StatusCode, Message: message, foreign: foreign,
		}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &decodeError{url: resp.Request.URL.String(), err: err}
	}
	return nil
}

// messageOf returns PD's message in an error body. That is a JSON string, which schedulers encode twice, and plain text
// for an unknown path; from v5.4 to v7.1 a refused scheduler is answered by two JSON strings, the second of which
// claims success. So only the first value counts, and what is no JSON is taken as it is. That is foreign, unless it is one
// of the texts that PD writes so: what else answers with a page of its own is no PD.
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

// plain reports whether a text is one that PD or its etcd answers as it is, without JSON.
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
