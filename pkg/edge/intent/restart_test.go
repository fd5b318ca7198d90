package intent

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestRestartMembers: single members are asked for in an annotation, beside components or alone, and the spec
// stays as it is.
func TestRestartMembers(t *testing.T) {
	asked := map[string]topology.MemberRestart{"basic-tikv-1": {Pod: "a", At: noon}}
	for name, tt := range map[string]struct {
		kinds   []topology.Kind
		members map[string]topology.MemberRestart
		has     []string
		lacks   string
	}{
		"a member":                 {nil, asked, []string{`"kubectl-tidb/restart":"{`, `basic-tikv-1`}, `"spec"`},
		"a member and a component": {[]topology.Kind{topology.TiDB}, asked, []string{`"kubectl-tidb/restart"`, `"spec":{"tidb":{"annotations":{"tidb.pingcap.com/restartedAt"`, `"kubectl-tidb/last-change"`}, `"spec":null`},
		"a component":              {[]topology.Kind{topology.TiDB}, nil, []string{`"tidb.pingcap.com/restartedAt"`}, `"kubectl-tidb/restart"`},
	} {
		t.Run(name, func(t *testing.T) {
			c, dyn := client(t, object(t, stored))
			tc, err := c.Load(t.Context(), "db", "basic")
			if err != nil {
				t.Fatal(err)
			}
			change, err := c.Restart(tc, tt.kinds, tt.members, noon)
			if err == nil {
				err = change.Write(t.Context(), Write{Action: "restart", At: noon})
			}
			got := strings.Join(patched(dyn), "\n")
			if err != nil || strings.Contains(got, tt.lacks) {
				t.Errorf("%v: %s", err, got)
			}
			for _, want := range tt.has {
				if !strings.Contains(got, want) {
					t.Errorf("no %s in %s", want, got)
				}
			}
		})
	}
}

// TestRestartMembersOfTwo: a request that another command has written meanwhile is not lost.
func TestRestartMembersOfTwo(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	tc, err := c.Load(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	changed(t, dyn, map[string]any{topology.AnnotationRestart: `{"basic-tikv-2":{"pod":"b"}}`}, "metadata", "annotations")
	change, err := c.Restart(tc, nil, map[string]topology.MemberRestart{"basic-tikv-1": {Pod: "a", At: noon}}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := change.Write(t.Context(), Write{}); !errors.As(err, new(*ChangedError)) {
		t.Errorf("%v", err)
	}
}

// TestEditLabel: a person who changes only a label keeps the spec.
func TestEditLabel(t *testing.T) {
	c, dyn := client(t, object(t, stored))
	d, err := c.Draft(t.Context(), "db", "basic")
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Edited([]byte(strings.Replace(string(d.Text), "  name: basic\n", "  name: basic\n  labels: {env: prod}\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	change, err := c.Edit(d, m)
	if err == nil {
		err = change.Write(t.Context(), Write{Action: "edit", At: noon})
	}
	got := strings.Join(patched(dyn), "\n")
	if err != nil || !strings.Contains(got, `"env":"prod"`) || strings.Contains(got, `"spec"`) {
		t.Errorf("%v: %s", err, got)
	}
}
