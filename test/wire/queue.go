package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
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
	address    string // of the server; "" for what is no request
	connects   bool
	broken     bool      // the server has ended
	send       func()    // sends events of a watch; nil for a request
	known      bool      // from was drawn
	from       time.Time // when a slow request arrives
	turn, done chan struct{}
	over       chan struct{} // closed when the answer may be sent
}

// serve lets all that is next have its turn. No answer is sent before the last turn: the client of the first answer
// could give up the other requests.
func serve(next []*waiting) {
	for _, w := range next {
		if w.send != nil {
			w.send()
			continue
		}
		select {
		case w.turn <- struct{}{}:
			<-w.done
		case <-w.done: // its client has gone
		}
	}
	for _, w := range next {
		if w.send == nil {
			close(w.over)
		}
	}
}

// arrived reports whether a slow request has arrived; all others have.
func (w *waiting) arrived() bool { return !time.Now().Before(w.from) }

func newQueue() *queue { return &queue{arrived: make(chan struct{}, 1)} }

// handler returns a handler that answers each request when its turn comes. server names what is asked.
func (q *queue) handler(server, address string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		sum := sha256.Sum256(body)
		defer breakOff(out)
		w := &waiting{key: server + " " + r.Method + " " + r.URL.RequestURI() + " " + string(sum[:]), address: address}
		var watch func()
		r = r.WithContext(context.WithValue(r.Context(), afterTurn{}, &watch))
		q.turn(r.Context(), w, func() { h.ServeHTTP(out, r) })
		if watch != nil {
			watch()
		}
	})
}

// watches reports whether a request is a watch.
func watches(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// afterTurn is the key of what a handler does after its turn, in the context of a request.
type afterTurn struct{}

// later returns a handler that serves watches after their turns. A watch ends with its client, and reads only what the
// API server locks.
func later(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		after, ok := r.Context().Value(afterTurn{}).(*func())
		if !ok || !watches(r) {
			h.ServeHTTP(out, r)
			return
		}
		*after = func() { h.ServeHTTP(out, r) }
	})
}

// errLost is what a handler panics with whose answer is lost.
var errLost = errors.New("the answer is lost")

// breakOff ends the connection of a lost answer after the first bytes of the answer. Without these bytes a client sends
// a request again by itself if it has used the connection before. Which of several requests has such a connection is
// decided by Go's scheduler.
func breakOff(out http.ResponseWriter) {
	switch lost := recover(); lost {
	case nil:
	case errLost:
		conn, _, err := http.NewResponseController(out).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler) // the answer has begun
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 ")
		_ = conn.Close()
	default:
		panic(lost)
	}
}

// end loses the answers of the requests to servers that have ended. It reports whether there were any.
func (q *queue) end(ended func(address string) bool) bool {
	q.mu.Lock()
	var all []*waiting
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiting) bool {
		w.broken = w.address != "" && ended(w.address)
		if w.broken {
			all = append(all, w)
		}
		return w.broken
	})
	q.mu.Unlock()
	serve(all)
	return len(all) > 0
}

// turn waits for a turn and does what has to be done in it, unless ctx ends before. What has the same key has its turn
// together.
func (q *queue) turn(ctx context.Context, w *waiting, do func()) {
	w.ctx, w.turn, w.done, w.over = ctx, make(chan struct{}), make(chan struct{}), make(chan struct{})
	q.add(w)
	select {
	case <-w.turn:
		defer func() { <-w.over }()
		defer close(w.done)
		if w.broken {
			panic(errLost)
		}
		do()
	case <-ctx.Done():
		close(w.done)
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

// take returns what is next of all that waits, none where nothing has arrived. All that has the same key is next
// together. Only Go's scheduler knows which of several equal requests is whose. So equal requests have to be answered
// alike and at the same moment. Connections come first. The seed draws nothing for connections, because the scheduler
// decides how many there are and which request is first to get a connection. With the odds of slow a request arrives
// later.
func (q *queue) take(rng *rand.Rand, slow, behind float64) []*waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiting) bool { return w.ctx.Err() != nil })
	slices.SortStableFunc(q.waiting, func(a, b *waiting) int { return cmp.Compare(a.key, b.key) })
	if i := slices.IndexFunc(q.waiting, func(w *waiting) bool { return w.connects }); i >= 0 {
		return q.leave(q.waiting[i].key)
	}
	q.draw(rng, slow, behind)
	keys := []string{}
	for _, w := range q.waiting {
		if w.arrived() && !slices.Contains(keys, w.key) {
			keys = append(keys, w.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return q.leave(keys[rng.IntN(len(keys))])
}

// leave takes out of the queue all that has a key and has arrived.
func (q *queue) leave(key string) (all []*waiting) {
	q.waiting = slices.DeleteFunc(q.waiting, func(w *waiting) bool {
		is := w.key == key && w.arrived()
		if is {
			all = append(all, w)
		}
		return is
	})
	return all
}

// draw says which of the requests that have come are slow, and which events of watches. Those that are equal and have
// come together are slow together.
func (q *queue) draw(rng *rand.Rand, slow, behind float64) {
	last := &waiting{}
	for _, w := range q.waiting {
		odds, most := slow, longest
		if w.send != nil {
			odds, most = behind, furthest
		}
		switch {
		case w.known || odds == 0 && w.send != nil:
			continue
		case w.key == last.key:
			w.from = last.from
		case rng.Float64() < odds:
			w.from = time.Now().Add(time.Duration(rng.Int64N(int64(most))))
		}
		w.known, last = true, w
	}
}
