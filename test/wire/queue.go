package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
)

// queue holds the requests and connections that have arrived and are not answered. Which one is answered next is decided by the seed and
// not by Go's scheduler, so that the same seed gives the same run.
type queue struct {
	mu      sync.Mutex
	waiting []*waiting
	arrived chan struct{}
}

// waiting is a request that waits for its turn.
type waiting struct {
	ctx        context.Context // ends with the client
	key        string
	turn, done chan struct{}
}

func newQueue() *queue { return &queue{arrived: make(chan struct{}, 1)} }

// handler returns a handler that answers each request when its turn comes. server names what is asked.
func (q *queue) handler(server string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		sum := sha256.Sum256(body)
		key := server + " " + r.Method + " " + r.URL.RequestURI() + " " + string(sum[:])
		if r.URL.Query().Get("watch") != "" {
			q.turn(r.Context(), key, func() {})
			h.ServeHTTP(w, r) // it ends with its client, and reads only what the API server locks
			return
		}
		q.turn(r.Context(), key, func() { h.ServeHTTP(w, r) })
	})
}

// turn waits for a turn and does what has to be done in it, unless ctx ends before. What has the same key is the same for
// the order.
func (q *queue) turn(ctx context.Context, key string, do func()) {
	next := &waiting{ctx: ctx, key: key, turn: make(chan struct{}), done: make(chan struct{})}
	q.add(next)
	defer close(next.done)
	select {
	case <-next.turn:
		do()
	case <-ctx.Done():
	}
}

func (q *queue) add(w *waiting) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, w)
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// take returns one of the requests that wait, nil if there is none.
func (q *queue) take(rng *rand.Rand) *waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiting) bool { return w.ctx.Err() != nil })
	if len(q.waiting) == 0 {
		return nil
	}
	slices.SortStableFunc(q.waiting, func(a, b *waiting) int { return cmp.Compare(a.key, b.key) })
	i := rng.IntN(len(q.waiting))
	next := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return next
}
