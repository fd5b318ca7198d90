package report

import (
	"container/list"
	"sync"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// queue holds the events that were reported and not yet shown. Of waiting and progress only the
// latest of each target is kept. So however long a terminal is stopped, the queue has at most one
// such event per target, and the few others, which are never dropped.
type queue struct {
	ready chan struct{} // holds a token when there is something to take

	mu     sync.Mutex
	events *list.List
	latest map[target]*list.Element // waiting and progress that may be replaced
	ended  bool                     // done was reported
	closed bool
}

// target is what a number is about: a gate, or a component's progress.
type target struct {
	progress bool
	gate     event.Gate
}

func targetOf(e event.Event) target {
	return target{e.Type == event.Progress, e.Gate()}
}

func newQueue() *queue {
	return &queue{
		ready:  make(chan struct{}, 1),
		events: list.New(),
		latest: map[target]*list.Element{},
	}
}

func (q *queue) push(e event.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.ended {
		return
	}
	q.ended = e.Type == event.Done
	t := targetOf(e)
	if e.Type == event.Waiting || e.Type == event.Progress {
		// The older event is removed, and not replaced in its position: events stay in the order in
		// which things happened.
		if old := q.latest[t]; old != nil {
			q.events.Remove(old)
		}
		q.latest[t] = q.events.PushBack(e)
	} else {
		q.events.PushBack(e)
		// A gate that passed and closes again is a new wait.
		delete(q.latest, t)
	}
	q.wake()
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take empties the queue. closed reports that there will be no more events.
func (q *queue) take() (events []event.Event, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for el := q.events.Front(); el != nil; el = el.Next() {
		events = append(events, el.Value.(event.Event))
	}
	q.events.Init()
	clear(q.latest)
	return events, q.closed
}
