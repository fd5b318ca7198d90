package step

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Claim names a claim by identity, because another claim may have the same name now. Where the version has changed,
// another driver may have marked the claim, or have taken the mark off; "" stands for any version.
type Claim struct {
	Name, UID, Version string
}

// Identities returns claims by identity.
func Identities(claims []state.Claim) []Claim {
	all := make([]Claim, len(claims))
	for i, c := range claims {
		all[i] = Claim{Name: c.Name, UID: c.UID, Version: c.Version}
	}
	return all
}

// MarkClaims marks a member's claims as left behind by a scale-in.
type MarkClaims struct {
	Component topology.Kind
	Member    string
	Claims    []Claim
}

func (MarkClaims) Action() string { return "MarkClaims" }

func (s MarkClaims) Target() (topology.Kind, string) { return s.Component, s.Member }

func (MarkClaims) Disruptive() bool { return false }

func (MarkClaims) Quiet() bool { return false }

func (s MarkClaims) String() string { return "mark " + names(s.Claims) + " as left over" }

// UnmarkClaims removes the mark from claims of a member that is wanted again. With the mark, data
// in use could be deleted as left over.
type UnmarkClaims struct {
	Component topology.Kind
	Member    string
	Claims    []Claim
	// PodUID is the member's pod when this was decided, "" for none. Hours later the member may have been removed, and its
	// data be left over.
	PodUID string
}

func (UnmarkClaims) Action() string { return "UnmarkClaims" }

func (s UnmarkClaims) Target() (topology.Kind, string) { return s.Component, s.Member }

func (UnmarkClaims) Disruptive() bool { return false }

func (UnmarkClaims) Quiet() bool { return false }

func (s UnmarkClaims) String() string { return "take the mark off " + names(s.Claims) }

// DeleteClaim deletes a marked claim, with its data.
type DeleteClaim struct {
	Component topology.Kind
	Member    string
	Name, UID string
	// Reclaim: the member is not wanted any more. Its volume is deleted with the claim, whatever
	// its reclaim policy was.
	Reclaim bool
	// PodUID is the one pod that may still have the claim mounted, the member's own, which is
	// deleted next. Until then Kubernetes keeps the claim, but gives it to no other pod. Empty when
	// there must be no pod.
	PodUID string
}

func (DeleteClaim) Action() string { return "DeleteClaim" }

func (s DeleteClaim) Target() (topology.Kind, string) { return s.Component, s.Member }

func (DeleteClaim) Disruptive() bool { return true }

func (DeleteClaim) Quiet() bool { return false }

func (s DeleteClaim) String() string {
	if s.Reclaim {
		return "delete left-over claim " + s.Name + " and its volume"
	}
	return "delete left-over claim " + s.Name
}

// ResizeClaim requests a larger volume, in place, and never a smaller one than was requested
// before.
type ResizeClaim struct {
	Component topology.Kind
	Member    string
	Name, UID string
	From      topology.Size // requested before
	Size      topology.Size
	Going     bool // it is being deleted already, and stays as long as its pod
}

func (ResizeClaim) Action() string { return "ResizeClaim" }

func (s ResizeClaim) Target() (topology.Kind, string) { return s.Component, s.Member }

func (ResizeClaim) Disruptive() bool { return false }

func (ResizeClaim) Quiet() bool { return false }

func (s ResizeClaim) String() string {
	return fmt.Sprintf("grow volume %s from %s to %s", s.Name, s.From, s.Size)
}

// ModifyClaim asks for another VolumeAttributesClass of a volume, in place.
type ModifyClaim struct {
	Component topology.Kind
	Member    string
	Name, UID string
	From      string // the class before, "" for none
	Class     string
	Going     bool // it is being deleted already, and stays as long as its pod
}

func (ModifyClaim) Action() string { return "ModifyClaim" }

func (s ModifyClaim) Target() (topology.Kind, string) { return s.Component, s.Member }

func (ModifyClaim) Disruptive() bool { return false }

func (ModifyClaim) Quiet() bool { return false }

func (s ModifyClaim) String() string {
	return fmt.Sprintf("give volume %s VolumeAttributesClass %s", s.Name, s.Class)
}

func names(claims []Claim) string {
	var all []string
	for _, c := range claims {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}
