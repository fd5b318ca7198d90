package observe

import (
	"sync"
	"time"
)

const (
	// fewLeaders is how many leaders are left when an eviction will end soon: the
	// store is then asked in each observation.
	fewLeaders = 20
	// young is how long a store is asked in each observation: most evictions end by
	// then.
	young = time.Minute
	// countedFor is how long a store's own number is used again while PD's number
	// does not change. PD gets a heartbeat of each store every ten seconds.
	countedFor = 30 * time.Second
	// leaderSettles is how long PD's numbers are not trusted after its leader has changed. A new leader begins with
	// numbers that were saved up to five minutes ago.
	leaderSettles = 5 * time.Minute
)

// leaderCounts are the last numbers of region leaders that stores have reported
// themselves during an eviction. Some evictions take hours, and to ask a store
// means to read all of its metrics.
type leaderCounts struct {
	mu sync.Mutex
	of map[uint64]leaderCount // by store id
}

type leaderCount struct {
	begun, asked time.Time
	byPD, own    int
}

// askAgain reports whether to ask a store during an eviction, given PD's number. If
// not, it returns the store's last number.
func (c *leaderCounts) askAgain(id uint64, byPD int, now time.Time) (own int, ask bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.of[id]
	if !known || now.Sub(last.begun) < young || now.Sub(last.asked) >= countedFor ||
		byPD != last.byPD || byPD <= fewLeaders || last.own <= fewLeaders {
		return 0, true
	}
	return last.own, false
}

// note notes the number that a store reported.
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

// forget drops the number of a store that is not being evicted.
func (c *leaderCounts) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, id)
}
