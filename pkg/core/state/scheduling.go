package state

// Scheduling is what PD itself reports to keep it from moving leaders or regions. PD accepts an eviction or a
// removal all the same, and then does not carry it out. The zero value keeps it from nothing.
type Scheduling struct {
	// Halted: schedule.halt-scheduling is set, so that PD moves nothing.
	Halted bool
	// NoLeaders: schedule.leader-schedule-limit is 0, so that PD moves no leaders.
	NoLeaders bool
	// NoReplicas: schedule.replica-schedule-limit is 0, so that PD makes and moves no copies of regions.
	NoReplicas bool
	// NoBalance: schedule.region-schedule-limit is 0, so that PD moves no regions to balance its stores.
	NoBalance bool
	// NoBalancer: PD has no balance-region scheduler, or it is disabled. BalancerPaused: it is paused. PD ends that by
	// itself after a time. It is read only where a replacement waits for balance.
	NoBalancer, BalancerPaused bool
	// Tolerance is by how many regions of average size PD lets stores differ (schedule.tolerant-size-ratio). It is 0 where
	// PD chooses the number itself.
	Tolerance int
	// LowSpaceRatio is the share of a store's disk above which PD puts no more regions onto the store
	// (schedule.low-space-ratio). It is 0 where PD does not say it.
	LowSpaceRatio float64
	// KeepsOffline: schedule.enable-replace-offline-replica is off. PD asks for that only while placement rules are
	// disabled.
	KeepsOffline bool
	// Evicting are all stores of the evict-leader scheduler, those of other clusters among them.
	Evicting []uint64
	// NoBatch: the evict-leader scheduler moves 0 leaders at a time. A scheduler that was made before an upgrade
	// to v8.5.0, v8.5.1 or v8.5.2 does so. A store that is added to such a scheduler later is not evicted
	// either.
	NoBatch bool
	// EvictionPaused: the evict-leader scheduler is paused. PD ends that by itself after a time.
	EvictionPaused bool
	// Denied are the names of region labels "schedule=deny", which keep leaders of their ranges where they are. An
	// import of TiDB Lightning or IMPORT INTO makes them. They are read only where leaders are to move.
	Denied []string
	// NoAdding are the stores that take no new copies (limit add-peer is 0). NoRemoving are the stores that give
	// no copies away (limit remove-peer is 0).
	NoAdding, NoRemoving []uint64
}
