package observe

import (
	"sync"
	"time"
)

const (
	// fewLeaders: with no more than these an eviction is about to be over, and the
	// store is asked in each observation.
	fewLeaders = 20
	// young is how long an eviction may take without anybody counting requests:
	// most are over by then.
	young = time.Minute
	// countedFor is how long a store's own number is used again as long as PD's does
	// not change. PD hears of each store every ten seconds.
	countedFor = 30 * time.Second
	// leaderSettles is how long PD's numbers are not trusted after its leader has
	// changed: it begins with those that were saved up to five minutes ago.
	leaderSettles = 5 * time.Minute
)

// leaderCounts are the last numbers of region leaders that stores being evicted have
// told themselves. Some evictions wait for hours, and to ask a store means to read
// all of its metrics.
type leaderCounts struct {
	mu sync.Mutex
	of map[uint64]leaderCount // by store id
}

type leaderCount struct {
	begun, asked time.Time
	byPD, own    int
}

// again reports whether a store that is being evicted is to be asked, given PD's
// number, and else returns what it said last.
func (c *leaderCounts) again(id uint64, byPD int, now time.Time) (own int, ask bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.of[id]
	if !known || now.Sub(last.begun) < young || now.Sub(last.asked) >= countedFor ||
		byPD != last.byPD || byPD <= fewLeaders || last.own <= fewLeaders {
		return 0, true
	}
	return last.own, false
}

// note notes what a store said.
func (c *leaderCounts) note(id uint64, byPD, own int, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[uint64]leaderCount{}
	}
	begun := now
	if last, known := c.of[id]; known {
		begun = last.begun
	}
	c.of[id] = leaderCount{begun: begun, asked: now, byPD: byPD, own: own}
}

// forget forgets a store that is not being evicted.
func (c *leaderCounts) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, id)
}
