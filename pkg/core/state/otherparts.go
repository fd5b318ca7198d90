package state

// OtherParts is what runs of the parts that use the PD here. It is read only where PD is to be suspended.
type OtherParts struct {
	// Running are the members of other parts that have a pod, by the names of their pods. A component that is to run and has
	// no pod now is there by the name of its StatefulSet.
	Running []RunningElsewhere
	// Unknown: there may be more parts, in namespaces or Kubernetes clusters that were not read. Only PD knows their members.
	Unknown bool
	// Across: parts in other Kubernetes clusters may have members in PD, and would fail without the members here.
	Across bool
	// Problem says why that is not known, "" where it is.
	Problem string
}

// RunningElsewhere is a member of another part that has a pod, or a component that is to have one.
type RunningElsewhere struct {
	Member    string // the name of the pod, or of the StatefulSet
	Namespace string
	Part      string // the name of its TidbCluster
	// Suspended: the user wants the component of the member suspended as well, so that the pod goes.
	Suspended bool
}
