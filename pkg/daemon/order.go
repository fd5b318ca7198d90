package daemon

import (
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// order is the order of the work queue: clusters of which somebody wants something
// new come before those to which something has happened. In a busy hour, pods that
// start are most of what happens, and a user should not wait behind all of them.
// The others get every fourth turn at least.
type order struct {
	mu     sync.Mutex
	asked  map[cache.ObjectName]bool // are to come first
	first  []cache.ObjectName
	later  []cache.ObjectName
	served int // how many in a row came first while others waited
}

// most is how many in a row come first.
const most = 3

func newOrder() *order { return &order{asked: map[cache.ObjectName]bool{}} }

// prefer has a cluster come first, the next time it is on the queue.
func (o *order) prefer(key cache.ObjectName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[key] = true
}

// Touch implements workqueue.Queue: the cluster is on the queue already.
func (o *order) Touch(key cache.ObjectName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at := slices.Index(o.later, key); o.asked[key] && at >= 0 {
		o.later = slices.Delete(o.later, at, at+1)
		o.first = append(o.first, key)
	}
	delete(o.asked, key)
}

// Push implements workqueue.Queue.
func (o *order) Push(key cache.ObjectName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked[key] {
		delete(o.asked, key)
		o.first = append(o.first, key)
		return
	}
	o.later = append(o.later, key)
}

// Len implements workqueue.Queue.
func (o *order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.first) + len(o.later)
}

// Pop implements workqueue.Queue. It is only called when there is something.
func (o *order) Pop() (key cache.ObjectName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := &o.first
	if o.served++; len(o.first) == 0 || len(o.later) > 0 && o.served > most {
		from, o.served = &o.later, 0
	}
	key, *from = (*from)[0], (*from)[1:]
	return key
}
