package wire

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
)

// queue holds the requests that have arrived and are not answered. Which one is answered next is decided by the seed and
// not by Go's scheduler, so that the same seed gives the same run.
type queue struct {
	mu      sync.Mutex
	waiting []*waiting
	arrived chan struct{}
}

// waiting is a request that waits for its turn.
type waiting struct {
	key        string
	turn, done chan struct{}
}

func newQueue() *queue { return &queue{arrived: make(chan struct{}, 1)} }

// handler returns a handler that answers each request when its turn comes. server names what is asked.
func (q *queue) handler(server string, h http.Handler, after func(*http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		sum := sha256.Sum256(body)
		next := &waiting{
			key:  server + " " + r.Method + " " + r.URL.RequestURI() + " " + string(sum[:]),
			turn: make(chan struct{}), done: make(chan struct{}),
		}
		q.add(next)
		<-next.turn
		if r.URL.Query().Get("watch") != "" { // it ends with its client
			close(next.done)
			h.ServeHTTP(w, r)
			return
		}
		defer close(next.done)
		h.ServeHTTP(w, r)
		after(r)
	})
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
	if len(q.waiting) == 0 {
		return nil
	}
	slices.SortStableFunc(q.waiting, func(a, b *waiting) int { return cmp.Compare(a.key, b.key) })
	i := rng.IntN(len(q.waiting))
	next := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return next
}
