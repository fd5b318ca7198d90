package wire

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// late is a request that arrives when its process goes on.
type late struct {
	at      time.Time
	process *sim.Standing
	send    func()
}

// Suspendable runs a command that is suspended with the odds of the world's faults.
func (w *World) Suspendable(ctx context.Context, args ...string) Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.running = &process{world: w, cancel: cancel}
	defer func() { w.running = nil }()
	dial := w.running.dial
	w.leave()
	defer w.hold()
	return w.run(ctx, dial, args...)
}

// standStill has the process stand still that is about to send a request. The request arrives when the process goes on:
// minutes later, or hours later in the rollout of another process. Whatever else the process would do then, it sees
// first that its lease has ended. So the request is the only one that arrives.
func (w *World) standStill(h http.Handler, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic("wire: read a request: " + err.Error())
	}
	sent := r.Clone(context.Background())
	at := time.Now().Add(time.Duration(1+w.rng.IntN(20)) * time.Minute)
	if w.rng.IntN(3) == 0 {
		at = never
	}
	w.asleep = append(w.asleep, late{at, w.Model.StandStill(), func() {
		sent.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(httptest.NewRecorder(), sent)
	}})
	w.stopping = true
	if after, ok := r.Context().Value(afterTurn{}).(*func()); ok {
		*after = func() { <-r.Context().Done() }
	}
}

// What the requests of a run name beside requests.
const (
	standsStill = "the process stands still"
	goesOn      = "a process goes on"
)

// never is when a request arrives whose process goes on in a rollout that the script begins.
var never = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)

// stop ends what a process does that stands still from now on.
func (w *World) stop() {
	if !w.stopping {
		return
	}
	w.stopping = false
	w.requests = append(w.requests, Request{At: time.Now(), What: standsStill})
	w.running.kill()
	w.running.cancel()
}

// goOn sends the requests of processes that go on now.
func (w *World) goOn() {
	waiting := w.asleep
	w.asleep = nil
	for _, l := range waiting {
		if time.Now().Before(l.at) {
			w.asleep = append(w.asleep, l)
			continue
		}
		w.requests = append(w.requests, Request{At: time.Now(), What: goesOn})
		w.Model.GoOn(l.process, l.send)
	}
}

// wakeAll has the processes go on that stand still, within minutes from now.
func (w *World) wakeAll() {
	for i := range w.asleep {
		w.asleep[i].at = time.Now().Add(time.Duration(w.rng.Int64N(int64(minutes))))
	}
}

// minutes is in how much time all processes go on.
const minutes = 3 * time.Minute
