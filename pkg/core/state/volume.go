package state

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"

// Identity has the labels and annotations of an object.
type Identity struct {
	Labels      map[string]string
	Annotations map[string]string
}

// Volume is the PersistentVolume that a claim is bound to.
type Volume struct {
	Name string
	UID  string
	// Version is the resourceVersion that was read.
	Version string
	// Policy is what happens to the volume when its claim is deleted: Retain,
	// Delete or Recycle.
	Policy   string
	Identity Identity
}

// Gap is something that could not be read and that nothing waits for. It is
// reported.
type Gap struct {
	What    string        // what is not known, e.g. "the volumes of claims"
	Problem string        // why
	Remedy  remedy.Remedy // what a person can do
}
