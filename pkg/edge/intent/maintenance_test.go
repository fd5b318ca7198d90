package intent

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestMaintenance: a mark is an annotation, and nothing else; that of another node, written meanwhile, is not lost.
func TestMaintenance(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	tc, err := c.Load(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	marked, err := made(t, c, c.BeginMaintenance(tc, topology.Maintenance{Node: "node-1", By: "ann@desk", Since: noon}), Write{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(patched(dyn), "\n"); strings.Contains(got, `"spec"`) || topology.New(marked).Maintained[0].Node != "node-1" {
		t.Errorf("%s; %v", got, topology.New(marked).Maintained)
	}
	ended, err := made(t, c, c.EndMaintenance(marked, "node-1"), Write{})
	if err != nil || len(topology.New(ended).Maintained) > 0 {
		t.Errorf("%v; %v", err, topology.New(ended).Maintained)
	}
	changed(t, dyn, map[string]any{topology.AnnotationMaintenance: `{"node-3":{"by":"bob@desk"}}`}, "metadata", "annotations")
	if err := c.BeginMaintenance(ended, topology.Maintenance{Node: "node-2"}).Write(t.Context(), Write{}); !errors.As(err, new(*ChangedError)) {
		t.Errorf("%v", err)
	}
}
