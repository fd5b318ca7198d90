package intent

import (
	"context"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// aboutRestore is what the beginning and the end of a restore are about. A record that another command has written since
// tc was read stays.
var aboutRestore = annotationsOf([]string{topology.AnnotationRestore})

// RecordRestore records the settings of PD from before a restore, in a TidbCluster that has no such record.
func (c *Client) RecordRestore(ctx context.Context, tc *v1alpha1.TidbCluster, settings string) error {
	return c.patch(ctx, "record the settings of PD in", tc, annotate(topology.AnnotationRestore, settings), aboutRestore, Write{})
}

// ForgetRestore removes the record that tc shows, after the settings are put back.
func (c *Client) ForgetRestore(ctx context.Context, tc *v1alpha1.TidbCluster) error {
	return c.patch(ctx, "remove the settings of PD from", tc, annotate(topology.AnnotationRestore, nil), aboutRestore, Write{})
}

func annotate(key string, value any) settings {
	return settings{annotations: map[string]any{key: value}}
}
