package step

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// ReplaceEnded deletes a pod in a final phase, so that the StatefulSet controller makes another one. Its claims stay.
type ReplaceEnded struct {
	Component topology.Kind
	Member    string
	UID       string
	// ByDatabase: PD says for long that the member does not serve. Otherwise the node of the pod is Ready, so that its
	// kubelet is heard. One of the two is read once more just before the pod is deleted.
	ByDatabase bool
}

func (ReplaceEnded) Action() string { return "ReplaceEnded" }

func (s ReplaceEnded) Target() (topology.Kind, string) { return s.Component, s.Member }

func (ReplaceEnded) Disruptive() bool { return true }

func (ReplaceEnded) Quiet() bool { return false }

func (s ReplaceEnded) String() string {
	return fmt.Sprintf("recreate pod %s, which has ended", s.Member)
}

// DeletePod deletes the pod of a member that the database has removed, so that its StatefulSet makes a new one. Without
// Again, the claims of the member are being deleted already, because the new pod would otherwise get the old data.
type DeletePod struct {
	Component topology.Kind
	Member    string
	UID       string
	// Again: the claims of the member are new and stay. What made the container crash is gone, but the kubelet waits
	// longer and longer before it starts the container again. A new pod starts at once.
	Again bool
}

func (DeletePod) Action() string { return "DeletePod" }

func (s DeletePod) Target() (topology.Kind, string) { return s.Component, s.Member }

func (DeletePod) Disruptive() bool { return true }

func (DeletePod) Quiet() bool { return false }

func (s DeletePod) String() string { return fmt.Sprintf("recreate pod %s", s.Member) }

// RemakePod deletes a pod that cannot be scheduled, because a claim of it does not exist.
// The StatefulSet controller then creates both.
type RemakePod struct {
	Component topology.Kind
	Member    string
	PodUID    string
	Claims    []string // the missing ones
}

func (RemakePod) Action() string { return "RemakePod" }

func (s RemakePod) Target() (topology.Kind, string) { return s.Component, s.Member }

func (RemakePod) Disruptive() bool { return false }

func (RemakePod) Quiet() bool { return false }

func (s RemakePod) String() string {
	return fmt.Sprintf("recreate %s, claim %s is missing", s.Member, strings.Join(s.Claims, ", "))
}
