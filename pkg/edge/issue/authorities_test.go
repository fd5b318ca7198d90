package issue_test

import (
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// TestAuthoritiesAreReplaced: in each stage every certificate of the stage before, which a member
// may still show, is trusted by all, and every authority of the stage before, which a member may
// still know alone, has signed all of them. In the end only the new authority is left.
func TestAuthoritiesAreReplaced(t *testing.T) {
	c, kube := cluster(), fake.NewClientset()
	s := issue.NewSelf(kube, c, noon, issue.Life)
	if _, err := s.Missing(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := read(t, kube, c)
	was := first
	for i, stage := range issue.Stages() {
		at := noon.Add(time.Duration(i) * time.Hour)
		for range 2 { // a repeated stage changes nothing
			if err := s.Advance(t.Context(), stage, at); err != nil {
				t.Fatal(err)
			}
		}
		if p, err := s.Progress(t.Context()); err != nil || p.Stage != stage || !p.Since.Equal(at) {
			t.Errorf("%s: %+v, %v", stage, p, err)
		}
		is := read(t, kube, c)
		for name := range is { // any member may have restarted, or not
			mixed := read(t, kube, c)
			mixed[name] = was[name]
			if faults := certificate.Faults(c, mixed, at); len(faults) > 0 {
				t.Errorf("%s: %s as it was before: %+v", stage, name, faults)
			}
		}
		was = is
	}
	if err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Progress(t.Context()); err != nil || p.Stage != issue.Begin {
		t.Errorf("%+v, %v", p, err)
	}
	for _, w := range topology.AllCertificates(c) {
		s := was[w.Secret]
		if len(s.Authorities) != 1 || certificate.ID(s.Authorities[0]) == certificate.ID(first[w.Secret].Authorities[0]) {
			t.Errorf("%s trusts %d authorities", w.Secret, len(s.Authorities))
		}
		if certificate.ID(s.Leaf) == certificate.ID(first[w.Secret].Leaf) {
			t.Errorf("%s has its old certificate", w.Secret)
		}
	}
}
