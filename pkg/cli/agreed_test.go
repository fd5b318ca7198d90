package cli

import (
	"bytes"
	"path/filepath"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// TestAgreed: a cluster of several that takes away more than the user was asked about is left as it is.
func TestAgreed(t *testing.T) {
	s := precious(t)
	s.answers["PATCH "+tidbclusters+"/basic"] = s.answers[tidbclusters+"/basic"]
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out bytes.Buffer
	f := factory.New(genericiooptions.IOStreams{In: &out, Out: &out, ErrOut: &out}, func(string) string { return "" }, "")
	*f.Flags.APIServer = s.URL
	session, err := target.Connect(f, "default", "basic")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	now, err := session.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := now.DeepCopy()
	want.Spec.TiDB.Replicas = 0
	r := check.Request{Action: "scale tidb=0", Change: intent.Change{Now: now, Want: want}}
	const pd, tidb = "PD has one member, which restarts: until it serves again, the whole cluster cannot be used",
		"TiDB goes from 2 members to none, so that no client can connect to it"
	for _, c := range []struct {
		agreed  []string
		refused string
	}{
		{nil, pd},
		{[]string{pd}, tidb},
		{[]string{tidb, pd}, ""},
	} {
		err := drive.Agreed(t.Context(), f, session, flags.Options{}, r, c.agreed)
		if c.refused == "" && err == nil {
			continue
		}
		if says := "cluster default/basic has changed since you were asked: " + c.refused + "; nothing was changed"; exit.Of(err) != exit.Refused || err.Error() != says {
			t.Errorf("agreed to %q: exit code %d: %v, want %q", c.agreed, exit.Of(err), err, says)
		}
	}
	if wrote := s.written(); len(wrote) > 0 {
		t.Errorf("it wrote: %v", wrote)
	}
}
