package intent

import (
	"context"
	"encoding/json"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// aboutPause are the fields that a change of the pause is about. A pause that another person has begun, or changed,
// since tc was read, is neither replaced nor ended.
var aboutPause = []string{"spec.paused", "metadata.annotations." + topology.AnnotationPause}

// Pause pauses a cluster and records by whom, or changes the record of a pause that has one.
func (c *Client) Pause(tc *v1alpha1.TidbCluster, p topology.Pause) Change {
	want := tc.DeepCopy()
	topology.SetPause(want, p)
	set := settings{
		spec:        json.RawMessage(`{"paused":true}`),
		annotations: map[string]any{topology.AnnotationPause: want.Annotations[topology.AnnotationPause]},
	}
	return Change{Now: tc, Want: want, Write: func(ctx context.Context, w Write) error {
		w.Manager = topology.PauseManager
		return c.patch(ctx, "pause", tc, set, aboutPause, w)
	}}
}

// Resume ends the pause of a cluster, and removes its record.
func (c *Client) Resume(tc *v1alpha1.TidbCluster) Change {
	want := tc.DeepCopy()
	topology.EndPause(want)
	set := settings{spec: json.RawMessage(`{"paused":null}`), annotations: map[string]any{topology.AnnotationPause: nil}}
	return Change{Now: tc, Want: want, Write: func(ctx context.Context, w Write) error {
		return c.patch(ctx, "resume", tc, set, aboutPause, w)
	}}
}

// EndPause ends the pause that tc shows.
func (c *Client) EndPause(ctx context.Context, tc *v1alpha1.TidbCluster) error {
	return c.Resume(tc).Write(ctx, Write{})
}

// aboutDDLPause is what the beginning and the end of a pause of DDL are about. A pause that was begun since tc was
// read keeps its record.
var aboutDDLPause = annotationsOf(topology.DDLPauseAnnotations())

func annotationsOf(keys []string) []string {
	var fields []string
	for _, key := range keys {
		fields = append(fields, "metadata.annotations."+key)
	}
	return fields
}

// RecordDDLPause records a pause of DDL that is about to begin, in a TidbCluster that has no such record.
func (c *Client) RecordDDLPause(ctx context.Context, tc *v1alpha1.TidbCluster, p topology.DDLPause) error {
	set := settings{annotations: map[string]any{}}
	for key, value := range p.Annotations() {
		set.annotations[key] = value
	}
	return c.patch(ctx, "record the pause of DDL in", tc, set, aboutDDLPause, Write{})
}

// ForgetDDLPause removes the record of a pause of DDL that tc shows, and that has ended.
func (c *Client) ForgetDDLPause(ctx context.Context, tc *v1alpha1.TidbCluster) error {
	set := settings{annotations: map[string]any{}}
	for _, key := range topology.DDLPauseAnnotations() {
		set.annotations[key] = nil
	}
	return c.patch(ctx, "remove the pause of DDL from", tc, set, aboutDDLPause, Write{})
}
