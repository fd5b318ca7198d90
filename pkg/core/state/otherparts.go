package state

// OtherParts is what runs of the parts that use the PD here. It is read only where PD is to be suspended.
type OtherParts struct {
	// Running are the members of other parts that have a pod, by the names of their pods.
	Running []RunningElsewhere
	// Problem says why that is not known, "" where it is.
	Problem string
}

// RunningElsewhere is a member of another part that has a pod.
type RunningElsewhere struct {
	Member    string // the pod's name
	Namespace string
	Part      string // the name of its TidbCluster
	// Suspended: the user wants the component of the member suspended as well, so that the pod goes.
	Suspended bool
}
