package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits bound what an answer may be. A limit of bytes is not enough, because an element of three bytes becomes a
// thousand in memory. So an answer of a few megabytes could take all the memory of a daemon, and end the daemon for
// all clusters.
type Limits struct {
	Bytes int64
	// Elements is how many elements all lists in the answer may have together.
	Elements int
	// Keys is how many keys all objects in the answer may have together.
	Keys int
}

// Small is for answers about one thing.
var Small = Limits{Bytes: 1 << 20, Elements: 1000, Keys: 20_000}

// ErrTooLarge means that an answer has more than its limits allow. To ask again would give the same.
var ErrTooLarge = errors.New("the answer is too large")

// Reader counts what a JSON text has while it is read. It fails with ErrTooLarge before more of the text is decoded.
type Reader struct {
	from    io.Reader
	limits  Limits
	lists   []bool // of each open bracket, the last one at the end: whether a list begins there
	text    bool   // in a string
	escaped bool   // after a backslash
	fresh   bool   // after an opening bracket of a list
}

// Within returns a reader of a JSON text with limits.
func Within(from io.Reader, l Limits) *Reader { return &Reader{from: from, limits: l} }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if r.limits.Bytes -= int64(n); r.limits.Bytes < 0 {
		return 0, fmt.Errorf("%w in bytes", ErrTooLarge)
	}
	for _, b := range p[:n] {
		r.count(b)
	}
	switch {
	case r.limits.Elements < 0:
		return 0, fmt.Errorf("%w: too many elements in lists", ErrTooLarge)
	case r.limits.Keys < 0:
		return 0, fmt.Errorf("%w: too many keys", ErrTooLarge)
	case len(r.lists) > deepest:
		return 0, fmt.Errorf("%w: lists and objects in each other", ErrTooLarge)
	}
	return n, err
}

// deepest is how deep lists and objects may be in each other. TiKV's configuration has five levels.
const deepest = 100

// count takes one byte. An element of a list ends with a comma, or is the first one after the bracket.
func (r *Reader) count(b byte) {
	switch {
	case r.text:
		switch {
		case r.escaped:
			r.escaped = false
		case b == '\\':
			r.escaped = true
		case b == '"':
			r.text = false
		}
		return
	case b == ' ', b == '\n', b == '\r', b == '\t':
		return
	}
	if r.fresh && b != ']' {
		r.limits.Elements--
	}
	r.fresh = false
	switch b {
	case '"':
		r.text = true
	case '[':
		r.lists, r.fresh = append(r.lists, true), true
	case '{':
		r.lists = append(r.lists, false)
	case ']', '}':
		r.lists = r.lists[:max(0, len(r.lists)-1)]
	case ',':
		if n := len(r.lists); n > 0 && r.lists[n-1] {
			r.limits.Elements--
		}
	case ':':
		r.limits.Keys--
	}
}

// decoding are the answers that are decoded at the same time by this process, but for small ones. Each takes several
// times its size while it is. What is read is bounded for itself, so that a member that answers slowly keeps no place
// here.
var decoding = make(chan struct{}, 4)

// smallAnswer is up to which size an answer is decoded at once.
const smallAnswer = 64 << 10

// Decode reads a JSON text within limits, up to its end, and then decodes it.
func Decode(ctx context.Context, from io.Reader, l Limits, out any) error {
	text, err := io.ReadAll(Within(from, l))
	if err != nil {
		return err
	}
	return decode(ctx, text, out)
}

// Unmarshal decodes a JSON text that was read, unless it exceeds limits.
func Unmarshal(ctx context.Context, text []byte, l Limits, out any) error {
	if _, err := io.Copy(io.Discard, Within(bytes.NewReader(text), l)); err != nil {
		return err
	}
	return decode(ctx, text, out)
}

func decode(ctx context.Context, text []byte, out any) error {
	if len(text) > smallAnswer {
		select {
		case decoding <- struct{}{}:
			defer func() { <-decoding }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return json.Unmarshal(text, out)
}
