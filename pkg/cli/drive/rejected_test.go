package drive

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestRejected: a request is refused for what the cluster does not allow, for objects that
// cannot be rendered, and for both at once.
func TestRejected(t *testing.T) {
	c := topology.Cluster{Namespace: "db", Name: "basic"}
	lower := field.ErrorList{field.Forbidden(field.NewPath("spec", "version"), "it is lower")}
	fixed := &render.RefusedError{
		Fields: field.ErrorList{field.Forbidden(field.NewPath("spec", "pd"), "it is fixed")}, Remedy: remedy.Remedy{remedy.Say("change it back")},
	}
	for name, tt := range map[string]struct {
		problems field.ErrorList
		refused  *render.RefusedError
		says     []string
	}{
		"nothing is wrong": {nil, nil, nil},
		"not allowed":      {lower, nil, []string{"it is lower"}},
		"not to be made":   {nil, fixed, []string{"it is fixed", "change it back"}},
		"both":             {lower, fixed, []string{"it is lower", "it is fixed", "change it back"}},
	} {
		err := rejected(c, tt.problems, tt.refused)
		if (err == nil) != (tt.says == nil) || err != nil && exit.Of(err) != exit.Refused {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range tt.says {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v does not say %q", name, err, text)
			}
		}
	}
}
