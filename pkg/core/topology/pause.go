package topology

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationPause is on a TidbCluster that was paused by "kubectl tidb pause". It says who has
// paused it, when and until when. Whether it is paused, spec.paused alone says.
const AnnotationPause = "kubectl-tidb/pause"

// PauseManager is the field manager that sets spec.paused together with the annotation. While the
// API server names PauseManager as the only owner of the field, the annotation is about the present
// pause. Otherwise a pause that another tool has begun later would end by the time of an earlier
// pause.
const PauseManager = "kubectl-tidb-pause"

// Pause says who has paused a cluster, as far as it is known.
type Pause struct {
	// By is a person, or the tools that have set spec.paused; "" where it is not known.
	By    string    `json:"by"`
	Since time.Time `json:"since,omitzero"`
	// Until is when the pause ends by itself, zero for never.
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Recorded: "kubectl tidb pause" has begun it, so that By is a person.
	Recorded bool `json:"-"`
}

// Over reports whether the time of a pause has passed, so that it ends.
func (p Pause) Over(now time.Time) bool {
	return p.Recorded && !p.Until.IsZero() && !now.Before(p.Until)
}

// String says by whom the cluster is paused, since and until when, and why.
func (p Pause) String() string {
	switch {
	case p.By == "":
		return "paused: spec.paused is set, and it is not known by whom"
	case !p.Recorded:
		return "paused: spec.paused was set by " + p.By
	}
	s := fmt.Sprintf("paused by %s since %s", p.By, moment(p.Since))
	if !p.Until.IsZero() {
		s += " until " + moment(p.Until)
	}
	if p.Reason != "" {
		s += ": " + p.Reason
	}
	return s
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// SetPause pauses a TidbCluster and records that. The record counts only if PauseManager writes it.
func SetPause(tc *v1alpha1.TidbCluster, p Pause) {
	p.Since, p.Until = p.Since.UTC().Truncate(time.Second), p.Until.UTC().Truncate(time.Second)
	text, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("topology: encode a pause: %v", err)) // its times are of years that JSON has
	}
	tc.Spec.Paused = true
	metav1.SetMetaDataAnnotation(&tc.ObjectMeta, AnnotationPause, string(text))
}

// EndPause ends the pause of a TidbCluster. It does not matter who has begun it.
func EndPause(tc *v1alpha1.TidbCluster) {
	tc.Spec.Paused = false
	delete(tc.Annotations, AnnotationPause)
}

// pauseOf returns what is known of the pause of a TidbCluster, nothing for one that is not paused.
func pauseOf(tc *v1alpha1.TidbCluster) Pause {
	if !tc.Spec.Paused {
		return Pause{}
	}
	var by []string
	for _, f := range PauseOwners(tc) {
		by = append(by, f.Manager)
	}
	var p Pause
	if len(by) == 1 && by[0] == PauseManager && json.Unmarshal([]byte(tc.Annotations[AnnotationPause]), &p) == nil && p.By != "" {
		p.Recorded = true
		return p
	}
	return Pause{By: strings.Join(by, ", ")}
}

// PauseOwners returns the field managers that own spec.paused, as the API server records them.
func PauseOwners(tc *v1alpha1.TidbCluster) []metav1.ManagedFieldsEntry {
	var owners []metav1.ManagedFieldsEntry
	for _, f := range tc.ManagedFields {
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if f.FieldsV1 == nil || json.Unmarshal(f.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if _, owns := fields.Spec["f:paused"]; owns {
			owners = append(owners, f)
		}
	}
	return owners
}
