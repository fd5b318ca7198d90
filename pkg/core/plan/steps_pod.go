package plan

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// DeletePod deletes the pod of a member that the database has removed, so that its StatefulSet
// recreates it. Its claims must be deleted before, otherwise the new pod would get the old data.
type DeletePod struct {
	Component topology.Kind
	Member    string
	UID       string
	// Again: its claims are new and stay. The reason for its crashes is gone, but the kubelet waits
	// longer and longer before it starts the container again. A new pod starts at once.
	Again bool
}

func (DeletePod) Action() string                    { return "DeletePod" }
func (s DeletePod) Target() (topology.Kind, string) { return s.Component, s.Member }
func (DeletePod) Disruptive() bool                  { return true }
func (DeletePod) Quiet() bool                       { return false }

func (s DeletePod) String() string { return fmt.Sprintf("recreate pod %s", s.Member) }

// RemakePod deletes a pod that cannot be scheduled, because a claim of it does not exist.
// The StatefulSet controller then creates both.
type RemakePod struct {
	Component topology.Kind
	Member    string
	PodUID    string
	Claims    []string // the missing ones
}

func (RemakePod) Action() string                    { return "RemakePod" }
func (s RemakePod) Target() (topology.Kind, string) { return s.Component, s.Member }
func (RemakePod) Disruptive() bool                  { return false }
func (RemakePod) Quiet() bool                       { return false }

func (s RemakePod) String() string {
	return fmt.Sprintf("recreate %s, claim %s is missing", s.Member, strings.Join(s.Claims, ", "))
}
