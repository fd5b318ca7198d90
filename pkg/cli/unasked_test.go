package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// precious returns a server with a cluster of one member of PD, whose template is to change, of stores
// and of TiDB servers, and with a claim of a cluster that is gone.
func precious(t *testing.T) *apiServer {
	s := orphaned(t, "")
	basic := tidbcluster("basic")
	spec := basic["spec"].(map[string]any)
	spec["pd"].(map[string]any)["replicas"] = 1
	spec["tidb"] = map[string]any{"baseImage": "pingcap/tidb", "replicas": 2}
	var sets, pods []any
	for component, n := range map[string]int{"pd": 1, "tikv": 3, "tidb": 2} {
		labels := map[string]string{
			"app.kubernetes.io/name": "tidb-cluster", "app.kubernetes.io/managed-by": "tidb-operator",
			"app.kubernetes.io/instance": "basic", "app.kubernetes.io/component": component,
		}
		pods = append(pods, map[string]any{
			"metadata": map[string]any{"namespace": "default", "name": "basic-" + component + "-0", "uid": component + "-0", "labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": component, "image": "pingcap/" + component + ":v8.1.0"}}},
			"status": map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{
				"name": component, "ready": true, "state": map[string]any{"running": map[string]any{"startedAt": "2026-01-01T00:00:00Z"}},
			}}},
		})
		var volumes []any
		if component != "tidb" {
			volumes = []any{map[string]any{"metadata": map[string]any{"name": component}, "spec": map[string]any{
				"resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
			}}}
		}
		sets = append(sets, map[string]any{
			"metadata": map[string]any{"namespace": "default", "name": "basic-" + component, "uid": component, "generation": 1, "labels": labels},
			"spec":     map[string]any{"replicas": n, "podManagementPolicy": "Parallel", "volumeClaimTemplates": volumes}, "status": map[string]any{"observedGeneration": 1, "replicas": n},
		})
	}
	empty := map[string]any{"items": []any{}}
	s.answers[coreV1+"services"], s.answers[coreV1+"configmaps"] = empty, empty
	s.answers[coreV1+"pods"] = map[string]any{"items": pods}
	s.answers[goneSets] = map[string]any{"items": sets}
	s.answers[tidbclusters] = clusterList(basic)
	s.answers[tidbclusters+"/basic"] = basic
	return s
}

// TestNothingIsTakenAwayUnasked: each verb that takes data or a service away refuses where it cannot
// ask, and where what is typed is not the name. It changes nothing, and names the command with --yes.
func TestNothingIsTakenAwayUnasked(t *testing.T) {
	nobody := func(t *testing.T) io.Reader {
		pipe, end, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pipe.Close(); end.Close() })
		return pipe // nothing is ever written to it
	}
	closed := func(t *testing.T) io.Reader {
		in := nobody(t).(*os.File)
		in.Close()
		return in
	}
	for _, c := range []struct{ args, effect string }{
		{"delete basic", "its data stays"},
		{"delete basic --delete-pvcs", "ITS DATA IS DELETED TOO"},
		{"scale basic tidb=0", "TiDB goes from 2 members to none"},
		{"restart basic pd", "PD has one member, which restarts"},
		{"upgrade basic v8.1.1", "PD has one member, which restarts"},
		{"failover basic run --discard basic-tikv-2", "the data of basic-tikv-2 is given up for good"},
		{"pvc prune gone", "tikv-gone-tikv-0"},
	} {
		for name, in := range map[string]func(*testing.T) io.Reader{
			"a pipe": nobody, "closed": closed,
			"the input ends":  func(*testing.T) io.Reader { return strings.NewReader("") },
			"not the name":    func(*testing.T) io.Reader { return strings.NewReader("yes\n") },
			"an empty answer": func(*testing.T) io.Reader { return strings.NewReader("\n") },
		} {
			t.Run(c.args+", "+name, func(t *testing.T) {
				s := precious(t)
				t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
				var out, errOut bytes.Buffer
				streams := genericiooptions.IOStreams{In: in(t), Out: &out, ErrOut: &errOut}
				args := append([]string{"--server", s.URL}, strings.Fields(c.args)...)
				code := run(t.Context(), args, streams, func(string) string { return "" })
				if code != 3 || !strings.Contains(errOut.String(), c.effect) || !strings.Contains(errOut.String(), "nothing was changed") {
					t.Errorf("exit code %d: %s", code, errOut.String())
				}
				if typed := strings.Contains(errOut.String(), "not the cluster's name"); !typed && !strings.Contains(errOut.String(), "--yes") {
					t.Errorf("no command with --yes: %s", errOut.String())
				}
				for _, asked := range s.requests() {
					if !strings.HasPrefix(asked, "GET ") && !strings.Contains(asked, "dryRun=All") {
						t.Errorf("it wrote: %s", asked)
					}
				}
			})
		}
	}
}
