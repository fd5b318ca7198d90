package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestTemplateRoundTrip(t *testing.T) {
	want := state.Template{Version: 2, Spec: "ab", Pods: "cd"}
	key, value, err := EncodeTemplate(topology.TiKV, want)
	if err != nil {
		t.Fatal(err)
	}
	if key != "template.tikv" || value != `{"version":2,"spec":"ab","pods":"cd"}` {
		t.Errorf("written as %s = %s", key, value)
	}
	got := Read(&corev1.ConfigMap{Data: map[string]string{key: value}})
	if diff := cmp.Diff(Book{Templates: map[topology.Kind]state.Template{topology.TiKV: want}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestTemplateFieldsOfLater: fields of a later version are ignored.
func TestTemplateFieldsOfLater(t *testing.T) {
	got := Read(&corev1.ConfigMap{Data: map[string]string{"template.pd": `{"version":9,"spec":"a","pods":"b","by":"x"}`}})
	if len(got.Gaps) > 0 || got.Templates[topology.PD].Version != 9 {
		t.Errorf("read as %+v", got)
	}
}

// TestUnreadableTemplate: a record that cannot be read is a gap, and has no effect.
func TestUnreadableTemplate(t *testing.T) {
	for key, value := range map[string]string{
		"template.tikv":  `not JSON`,
		"template.pd":    `{"version":"two","spec":"a","pods":"b"}`,
		"template.tidb":  `{"version":2,"pods":"b"}`,
		"template.other": `{"version":2,"spec":"a","pods":"b"}`,
		"template.":      `{"version":2,"spec":"a","pods":"b"}`,
		"template":       `{"version":2,"spec":"a","pods":"b"}`,
	} {
		got := Read(&corev1.ConfigMap{Data: map[string]string{key: value}})
		if len(got.Gaps) != 1 || len(got.Templates) > 0 {
			t.Errorf("%s = %s is read as %+v", key, value, got)
		}
	}
}
