package render

import (
	"slices"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestWarned: each warning is reported once, for the first component that mounts the certificate, and for PD
// where none does.
func TestWarned(t *testing.T) {
	c := topology.New(&v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{
		Version: "v8.1.0", PD: &v1alpha1.PDSpec{}, TiKV: &v1alpha1.TiKVSpec{}, TiDB: &v1alpha1.TiDBSpec{}, TiProxy: &v1alpha1.TiProxySpec{},
	}})
	mounted := topology.Certificate{MountedBy: []topology.Kind{topology.TiDB, topology.TiProxy}}
	warnings := []certificate.Warning{
		{About: certificate.End, Text: "a"}, {Certificate: mounted, About: certificate.AuthorityEnd, Text: "b"},
		{Certificate: mounted, About: certificate.ServiceNames, Text: "c"},
	}
	want := map[topology.Kind][]event.NoticeReason{
		topology.PD: {event.CertificateEnds}, topology.TiDB: {event.AuthorityEnds, event.CertificateNames},
	}
	for _, g := range c.Groups {
		var got []event.NoticeReason
		for _, f := range warned(c, g.Kind, warnings) {
			if f.Component != g.Kind || f.Text == "" {
				t.Errorf("%+v", f)
			}
			got = append(got, f.Reason)
		}
		if !slices.Equal(got, want[g.Kind]) {
			t.Errorf("%s: %q, want %q", g.Kind, got, want[g.Kind])
		}
	}
}
