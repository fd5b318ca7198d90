package create

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// given runs the command line up to its options.
func given(t *testing.T, args string) (options, error) {
	t.Helper()
	var got options
	cmd := command(nil, func(_ context.Context, o options) error { got = o; return nil })
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	cmd.SetArgs(strings.Fields(args))
	return got, cmd.Execute()
}

func TestCluster(t *testing.T) {
	o, err := given(t, "basic --version v8.1.0 --tikv 5 --storage 500Gi --storage-class fast")
	if err != nil {
		t.Fatal(err)
	}
	tc, err := o.cluster("db")
	if err != nil {
		t.Fatal(err)
	}
	if errs := topology.Validate(topology.New(tc)); len(errs) > 0 {
		t.Error(errs)
	}
	if tc.Namespace != "db" || tc.Name != "basic" || tc.Spec.Version != "v8.1.0" {
		t.Errorf("%s/%s %s", tc.Namespace, tc.Name, tc.Spec.Version)
	}
	if tc.Spec.PD.Replicas != 3 || tc.Spec.TiKV.Replicas != 5 || tc.Spec.TiDB.Replicas != 2 {
		t.Errorf("pd %d, tikv %d, tidb %d", tc.Spec.PD.Replicas, tc.Spec.TiKV.Replicas, tc.Spec.TiDB.Replicas)
	}
	if probe := tc.Spec.TiDB.ReadinessProbe; *probe.InitialDelaySeconds > 1 || *probe.PeriodSeconds > 2 {
		t.Errorf("TiDB is looked at after %d s, and then each %d s", *probe.InitialDelaySeconds, *probe.PeriodSeconds)
	}
	if got := tc.Spec.TiKV.Requests.Storage().String(); got != "500Gi" || *tc.Spec.TiKV.StorageClassName != "fast" {
		t.Errorf("storage %s of class %s", got, *tc.Spec.TiKV.StorageClassName)
	}
}

func TestTiProxy(t *testing.T) {
	o, err := given(t, "basic --version v8.1.0 --tiproxy 2 --tiproxy-version v1.3.0")
	if err != nil {
		t.Fatal(err)
	}
	tc, err := o.cluster("db")
	if err != nil {
		t.Fatal(err)
	}
	if p := tc.Spec.TiProxy; p == nil || p.Replicas != 2 || *p.Version != "v1.3.0" || tc.TiProxyImage() != "pingcap/tiproxy:v1.3.0" {
		t.Errorf("%+v", p)
	}
	if warnings := topology.Warnings(nil, topology.New(tc)); len(warnings) > 0 {
		t.Error(warnings)
	}
}

func TestTiCDC(t *testing.T) {
	o, err := given(t, "basic --version v8.1.0 --ticdc 2")
	if err != nil {
		t.Fatal(err)
	}
	tc, err := o.cluster("db")
	if err != nil {
		t.Fatal(err)
	}
	if c := tc.Spec.TiCDC; c == nil || c.Replicas != 2 || tc.TiCDCImage() != "pingcap/ticdc:v8.1.0" {
		t.Errorf("%+v", c)
	}
	if warnings := topology.Warnings(nil, topology.New(tc)); len(warnings) > 0 {
		t.Error(warnings)
	}
}

func TestWrong(t *testing.T) {
	for args, says := range map[string]string{
		"basic --version newest":                                     "--version",
		"basic --version 8.1.0":                                      "did you mean v8.1.0",
		"basic --version v8.1.0 --storage plenty":                    "--storage",
		"basic --version v8.1.0 --storage -1Gi":                      "--storage",
		"basic --version v8.1.0 --tikv 0":                            "at least one",
		"basic --version v8.1.0 --pd -1":                             "at least one",
		"basic --version v8.1.0 --tiproxy 2":                         "--tiproxy needs --tiproxy-version",
		"basic --version v8.1.0 --tiproxy -1":                        "--tiproxy",
		"basic --version v8.1.0 --tiproxy-version v1":                "without --tiproxy",
		"basic --version v8.1.0 --tiproxy 1 --tiproxy-version 1.3.0": "did you mean v1.3.0",
		"basic --version v8.1.0 --ticdc -1":                          "--ticdc",
		"Basic_1 --version v8.1.0":                                   "metadata.name",
		strings.Repeat("x", 60) + " --version v8.1.0":                "metadata.name",
	} {
		o, err := given(t, args)
		if err == nil {
			_, err = o.cluster("db")
		}
		if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: exit code %d, %v does not say %q", args, exit.Of(err), err, says)
		}
	}
}
