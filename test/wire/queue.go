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
	"time"
)

// queue holds the requests, connections and events of watches that have arrived and are not answered. The seed decides
// which one is next.
type queue struct {
	mu      sync.Mutex
	waiting []*waiting
	arrived chan struct{}
}

// waiting is a request that waits for its turn.
type waiting struct {
	ctx        context.Context // ends with the client
	key        string
	connects   bool
	send       func()    // sends events of a watch; nil for a request
	known      bool      // from was drawn
	from       time.Time // when a slow request arrives
	turn, done chan struct{}
}

// serve lets what waits have its turn, and returns when the turn is over.
func (w *waiting) serve() {
	if w.send != nil {
		w.send()
		return
	}
	select {
	case w.turn <- struct{}{}:
		<-w.done
	case <-w.done: // its client has gone
	}
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
			q.turn(r.Context(), &waiting{key: key}, func() {})
			h.ServeHTTP(w, r) // it ends with its client, and reads only what the API server locks
			return
		}
		q.turn(r.Context(), &waiting{key: key}, func() { h.ServeHTTP(w, r) })
	})
}

// turn waits for a turn and does what has to be done in it, unless ctx ends before. What has the same key is the same for
// the order.
func (q *queue) turn(ctx context.Context, w *waiting, do func()) {
	w.ctx, w.turn, w.done = ctx, make(chan struct{}), make(chan struct{})
	q.add(w)
	defer close(w.done)
	select {
	case <-w.turn:
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

// announce lets the events of a watch wait for their turn.
func (q *queue) announce(watch string, send func()) {
	q.add(&waiting{ctx: context.Background(), key: "watch " + watch, send: send})
}

// take returns one of the requests that wait, nil if there is none. Connections come first: which of several requests gets
// a connection first is decided by Go's scheduler, so all of them have to wait before one is chosen. With the odds of slow a
// request arrives later.
func (q *queue) take(rng *rand.Rand, slow float64) *waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiting) bool { return w.ctx.Err() != nil })
	slices.SortStableFunc(q.waiting, func(a, b *waiting) int { return cmp.Compare(a.key, b.key) })
	var arrived []*waiting
	for _, w := range q.waiting {
		if !w.known && !w.connects && w.send == nil && rng.Float64() < slow {
			w.from = time.Now().Add(time.Duration(rng.Int64N(int64(longest))))
		}
		w.known = true
		if !time.Now().Before(w.from) {
			arrived = append(arrived, w)
		}
	}
	if len(arrived) == 0 {
		return nil
	}
	next := arrived[rng.IntN(len(arrived))]
	if i := slices.IndexFunc(arrived, func(w *waiting) bool { return w.connects }); i >= 0 {
		next = arrived[i]
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiting) bool { return w == next })
	return next
}
