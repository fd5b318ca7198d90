// Package ask sends a request to the HTTP port of a member and reads what it answers.
//
// It is for the clients of components, which say what an answer means. An error means that there is no
// whole answer; a member that answers with an error has answered. Which of the two it is, is evidence
// about the member, so the one is never taken for the other.
package ask

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Answer is what a member has answered, with whatever code.
type Answer struct {
	Code   int
	Status string // the code and its text, such as 503 Service Unavailable
	Body   []byte
}

// Port is an HTTP port that all members of a component have.
type Port struct {
	HTTP   *http.Client
	Scheme string // "" means http
	Number int    // of hosts that are given without a port
	Body   Body
}

// Get asks the member on host for a page.
func (p Port) Get(ctx context.Context, host, path string) (Answer, error) {
	req, err := p.request(ctx, http.MethodGet, host, path, nil)
	if err != nil {
		return Answer{}, err
	}
	return p.Body.Of(p.HTTP, req)
}

// Post sends a page in JSON to the member on host.
func (p Port) Post(ctx context.Context, host, path string, body []byte) (Answer, error) {
	req, err := p.request(ctx, http.MethodPost, host, path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	return p.Body.Of(p.HTTP, req)
}

func (p Port) request(ctx context.Context, method, host, path string, body io.Reader) (*http.Request, error) {
	scheme := p.Scheme
	if scheme == "" {
		scheme = "http"
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, strconv.Itoa(p.Number))
	}
	return http.NewRequestWithContext(ctx, method, scheme+"://"+host+path, body)
}

// status returns a code with its text. The text that the member has sent with it is not used: it can be anything.
func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// Body says how the body of an answer is read.
type Body struct {
	// Max is how many bytes of it are read: an answer must not use up the memory.
	Max int64
	// Keep returns the part that is used; nil keeps all of it.
	Keep func(io.Reader) ([]byte, error)
}

// Of sends a request and returns the answer. The body is read up to its end: else the connection could
// not be used again. An answer that ends too early, or is longer than Max, is an error, since half of it
// could look like a whole one.
func (b Body) Of(client *http.Client, req *http.Request) (Answer, error) {
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	keep := b.Keep
	if keep == nil || resp.StatusCode/100 != 2 {
		keep = io.ReadAll
	}
	in := &io.LimitedReader{R: resp.Body, N: b.Max + 1}
	body, err := keep(in)
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("read the answer: %w", err)
	case in.N <= 0:
		return Answer{}, fmt.Errorf("read the answer: it has more than %d bytes", b.Max)
	}
	return Answer{Code: resp.StatusCode, Status: status(resp.StatusCode), Body: body}, nil
}
