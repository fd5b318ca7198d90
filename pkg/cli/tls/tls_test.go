package tls

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
)

func execute(cmd *cobra.Command, args string) error {
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	cmd.SetArgs(strings.Fields(args))
	return cmd.Execute()
}

func TestArguments(t *testing.T) {
	ran := false
	for _, c := range []struct{ verb, args, says string }{
		{"init", "basic", ""},
		{"init", "basic --issuer cert-manager/mine --valid-for 720h", ""},
		{"init", "", "accepts 1 arg"},
		{"init", "basic --issuer vault", `"vault" is neither self nor cert-manager/NAME`},
		{"init", "basic --issuer cert-manager/", "is neither self nor"},
		{"init", "basic --valid-for 1m", "less than an hour"},
		{"rotate", "basic --ca --timeout 10m", ""},
		{"rotate", "basic --dry-run", "--dry-run does not go with tls rotate"},
		{"rotate", "basic --wait=false", "--wait=false"},
		{"rotate", "", "accepts 1 arg"},
	} {
		ran = false
		var cmd *cobra.Command
		if c.verb == "init" {
			cmd = initCommand(nil, func(context.Context, initOptions) error { ran = true; return nil })
		} else {
			cmd = rotateCommand(nil, func(context.Context, rotateOptions) error { ran = true; return nil })
		}
		err := execute(cmd, c.args)
		if c.says == "" && (err != nil || !ran) || c.says != "" && (ran || err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s %s: %v, ran %v, want %q", c.verb, c.args, err, ran, c.says)
		}
	}
	if err := execute(New(nil), "renew basic"); exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), "none of init, check and rotate") {
		t.Error(err)
	}
}

// TestCheck: what is wrong, what is not known, and who shows an older certificate.
func TestCheck(t *testing.T) {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	c := topology.New(&v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0", TLSCluster: &v1alpha1.TLSCluster{Enabled: true},
			PD: &v1alpha1.PDSpec{Replicas: 2}, TiKV: &v1alpha1.TiKVSpec{Replicas: 1}, TiDB: &v1alpha1.TiDBSpec{Replicas: 1},
		},
	})
	a, err := issue.NewAuthority("own", noon)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]certificate.Secret{}
	for _, w := range topology.Certificates(c) {
		data, err := a.Issue(w, issue.CommonName, noon, 100*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		read[w.Secret] = certificate.Parse(w.Secret, data, false)
	}
	pd := read["basic-pd-cluster-secret"]
	read["basic-tikv-cluster-secret"] = certificate.Secret{Name: "basic-tikv-cluster-secret", Missing: true}
	read["basic-tidb-cluster-secret"] = certificate.Secret{Name: "basic-tidb-cluster-secret", Unread: "not permitted"}
	v := viewOf(c, state.Snapshot{At: noon.Add(90 * 24 * time.Hour), Certificates: read}, "")
	v.Members = membersOf([]observe.Served{
		{Member: "basic-pd-0", Leaf: pd.Leaf, Of: pd},
		{Member: "basic-pd-1", Leaf: read["basic-cluster-client-secret"].Leaf, Of: pd},
		{Member: "basic-tikv-0", Err: context.DeadlineExceeded},
	})
	var out bytes.Buffer
	if err := v.print(&out); err != nil {
		t.Fatal(err)
	}
	const want = `
SECRET                        ENDS         LEFT   STATE
basic-cluster-client-secret   2026-10-09   10d    valid
basic-pd-cluster-secret       2026-10-09   10d    valid
basic-tikv-cluster-secret     -            -      Secret basic-tikv-cluster-secret does not exist
basic-tidb-cluster-secret     -            -      unknown: not permitted

MEMBER         ENDS         SHOWS
basic-pd-0     2026-10-09   current
basic-pd-1     2026-10-09   older than its Secret
basic-tikv-0   -            unknown: context deadline exceeded
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(v.Certificates[0].Warnings) > 0 || v.Certificates[0].Authority == nil || v.Certificates[0].Authority.DaysLeft < 1000 {
		t.Errorf("%+v", v.Certificates[0])
	}
	err = v.verdict()
	if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "1 of 4 certificates cannot be used: basic-tikv-cluster-secret; have it made: kubectl tidb tls init basic -n db") {
		t.Error(err)
	}
}

// TestCheckWarns: what may be a problem is said with the command that helps, and is no failure.
func TestCheckWarns(t *testing.T) {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	c := topology.New(&v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0", PD: &v1alpha1.PDSpec{Replicas: 1}, TiKV: &v1alpha1.TiKVSpec{Replicas: 1},
			TiDB:    &v1alpha1.TiDBSpec{Replicas: 1, TLSClient: &v1alpha1.TiDBTLSClient{Enabled: true}},
			TiProxy: &v1alpha1.TiProxySpec{Replicas: 1},
		},
	})
	a, err := issue.NewAuthority("own", noon)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]certificate.Secret{}
	for _, w := range topology.Certificates(c) {
		w.Names = []string{"db.example.com"}
		data, err := a.Issue(w, issue.CommonName, noon, 20*365*24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		read[w.Secret] = certificate.Parse(w.Secret, data, false)
	}
	v := viewOf(c, state.Snapshot{At: a.Certificate.NotAfter.Add(-50 * time.Hour), Certificates: read}, "prod")
	var out bytes.Buffer
	if err := v.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nwarning: the authority ", ` in ca.crt of Secret basic-tidb-client-secret ends on 2036-06-28, in 2 days: what it has signed is not accepted after that
  have a new one made, if kubectl tidb tls init has made it: kubectl tidb tls rotate basic --ca -n db --context prod
`, `in Secret basic-tidb-server-secret has no name of Service basic-tiproxy, such as basic-tiproxy.db.svc: SQL clients that verify the name do not accept it
  have a new one issued, if kubectl tidb tls init has made it: kubectl tidb tls rotate basic -n db --context prod
`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %s", out.String(), want)
		}
	}
	if err := v.verdict(); err != nil {
		t.Error(err)
	}
}
