package plan

// adjustment changes what the phases have decided for a component. An adjustment adds a gate or advice, or holds steps
// back; none of them adds a step.
type adjustment struct {
	make func(*decision, verdict) verdict
	// suspended: the adjustment is made for a component that is suspended as well.
	suspended bool
}

// adjustments are made in this order, because the later ones read the gates of the earlier ones.
var adjustments = []adjustment{
	// Before all advice, because a canary is the only reason why some members do not serve.
	{make: (*decision).addCanaryGate},
	// Before the requests of OnDelete, which replace this advice.
	{make: (*decision).adviseBelowRollout},
	{make: (*decision).askForDeletion},
	// After these requests, because with OrderedReady a member may wait for a pod that a person was asked to delete.
	{make: (*decision).adviseParallel},
	// After all advice, because a removal by a person explains best why a member does not serve.
	{make: (*decision).explainRemoval},
	// After the requests to a person, because no person needs to do anything about a store that comes back.
	{make: (*decision).awaitNewReports},
	// After all that adds gates, because pods that lack an object pass none of the gates that need these pods.
	{make: (*decision).keepWithoutPods},
	// Last, because a node under maintenance, or a member of another part, may go down whatever else is decided, and BR
	// writes to all stores.
	{make: (*decision).holdForRestore, suspended: true},
	{make: (*decision).holdForMaintenance, suspended: true},
	{make: (*decision).holdForOtherPart, suspended: true},
}

// adjusted makes the adjustments.
func (d *decision) adjusted(v verdict) verdict {
	for _, a := range adjustments {
		if a.suspended || !d.Want.Suspend {
			v = a.make(d, v)
		}
	}
	return v
}
