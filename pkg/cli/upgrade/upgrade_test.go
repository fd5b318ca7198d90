package upgrade

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"basic v8.1.1", ""},
		{"basic v8.1.1 --force", ""},
		{"basic", "accepts 2 arg"},
		{"basic v8.1.1 more", "accepts 2 arg"},
		{"basic v8.1.1 --exit-code", "--dry-run"},
	} {
		var got *options
		cmd := command(nil, func(_ context.Context, o options) error { got = &o; return nil })
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(io.Discard)
		cmd.SetArgs(strings.Fields(c.args))
		err := cmd.Execute()
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) || got != nil {
				t.Errorf("%s: error %v, want %q", c.args, err, c.says)
			}
		case err != nil:
			t.Errorf("%s: %v", c.args, err)
		case got.name[0] != "basic" || got.version != "v8.1.1" || got.Force != strings.Contains(c.args, "--force"):
			t.Errorf("%s: %+v", c.args, got)
		}
	}
}

func TestRefusal(t *testing.T) {
	cluster := func(change func(*v1alpha1.TidbCluster)) *v1alpha1.TidbCluster {
		tc := &v1alpha1.TidbCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
			Spec: v1alpha1.TidbClusterSpec{
				Version: "v8.1.0",
				PD:      &v1alpha1.PDSpec{BaseImage: "pingcap/pd"},
				TiKV:    &v1alpha1.TiKVSpec{BaseImage: "pingcap/tikv"},
			},
		}
		change(tc)
		return tc
	}
	own := "v8.0.0"
	for _, c := range []struct {
		name    string
		now     *v1alpha1.TidbCluster
		version string
		code    exit.Code
		says    string
	}{
		{"another version", cluster(func(*v1alpha1.TidbCluster) {}), "v8.1.1", exit.OK, ""},
		{"a version that is not written in full", cluster(func(*v1alpha1.TidbCluster) {}), "v8.1", exit.Usage, "did you mean v8.1.0?"},
		{"how to have it nevertheless", cluster(func(*v1alpha1.TidbCluster) {}), "build-7", exit.Usage,
			`use it nevertheless: kubectl patch tidbclusters basic --type merge -p '{"spec":{"version":"build-7"}}' -n db && kubectl tidb sync basic -n db`},
		{"an image of one's own", cluster(func(*v1alpha1.TidbCluster) {}), "v8.1.0-custom", exit.OK, ""},
		{"nightly", cluster(func(*v1alpha1.TidbCluster) {}), "nightly", exit.OK, ""},
		{"without v", cluster(func(*v1alpha1.TidbCluster) {}), "8.1.1", exit.Usage, "did you mean v8.1.1"},
		{
			"a version of its own", cluster(func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Version = &own }),
			"v8.1.1", exit.Refused, "tikv of cluster db/basic has a version of its own (v8.0.0)",
		},
	} {
		change, err := (&intent.Client{}).SetVersion(c.now, c.version, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = Refusal(change)
		if exit.Of(err) != c.code {
			t.Errorf("%s: exit code %d, want %d: %v", c.name, exit.Of(err), c.code, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q does not say %q", c.name, err, c.says)
		}
	}
}
