package plan

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"

// queue is what earlier rollouts mean for the rollout of a component.
type queue struct {
	by topology.Kind // a component with an earlier rollout that has not converged, "" for none
	// rolling: a component that this component needs has an earlier rollout to finish. The earlier
	// rollout does not hold back a repair of this component, because a third component may wait for
	// the repair. With a canary it does, because a person decides when other components follow.
	rolling bool
	// canary: an earlier rollout is not finished, and stops until a person promotes it, which may take days.
	canary bool
}

// earlierRollouts are the components that are asked before a component, in the order of rollouts.
type earlierRollouts []earlierRollout

// earlierRollout is what a component means for components that are asked later.
type earlierRollout struct {
	index   int // of the component, in dependency order
	kind    topology.Kind
	waits   bool          // the component has not converged
	needs   bool          // the component waits for another component before anything else
	rolling bool          // the component has a rollout to finish
	canary  bool          // the rollout of the component stops until a person promotes it
	awaits  topology.Kind // the component whose rollout is all that this one waits for, "" for none
}

// queueOf returns what earlier rollouts mean for the component with an index. Two kinds of earlier components do not
// hold that component back. One kind lacks what that component provides, the other kind waits for the rollout of that
// component. Otherwise the two components would wait for each other.
func (all earlierRollouts) queueOf(i int, k topology.Kind) queue {
	var q queue
	for _, o := range all {
		q.canary = q.canary || o.rolling && o.canary
		q.rolling = q.rolling || o.rolling && (o.index < i || o.canary)
		if q.by == "" && o.waits && (o.index < i || !o.needs) && o.awaits != k {
			q.by = o.kind
		}
	}
	return q
}
