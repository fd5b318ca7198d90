package daemon

import (
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// order is the order of the work queue. Clusters whose spec has changed come before clusters in which only objects have
// changed. Under load most changes are pods that start, and a user should not wait for all of them. The other
// clusters get at least every fourth turn.
type order struct {
	mu     sync.Mutex
	asked  map[cache.ObjectName]bool // clusters that come first
	first  []cache.ObjectName
	later  []cache.ObjectName
	served int // how many in a row were from first while others waited
}

// most is how many in a row may be from first.
const most = 3

func newOrder() *order { return &order{asked: map[cache.ObjectName]bool{}} }

// prefer puts a cluster first, the next time it is on the queue.
func (o *order) prefer(key cache.ObjectName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[key] = true
}

// Touch implements workqueue.Queue. It is called when the cluster is on the queue
// already.
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

// Pop implements workqueue.Queue. It is only called when the queue is not empty.
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
