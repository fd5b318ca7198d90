package cli

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

const (
	coreV1   = "/api/v1/namespaces/default/"
	goneSets = "/apis/apps/v1/namespaces/default/statefulsets"
)

// orphaned returns a server with the claim of a cluster that is gone, which a pod mounts if it has a name.
func orphaned(t *testing.T, pod string) *apiServer {
	pods := []any{}
	if pod != "" {
		pods = append(pods, map[string]any{
			"metadata": map[string]any{"namespace": "default", "name": pod},
			"spec":     map[string]any{"volumes": []any{map[string]any{"name": "x", "persistentVolumeClaim": map[string]any{"claimName": "tikv-gone-tikv-0"}}}},
		})
	}
	claim := map[string]any{
		"metadata": map[string]any{
			"namespace": "default", "name": "tikv-gone-tikv-0", "uid": "42", "resourceVersion": "7",
			"labels": map[string]any{
				"app.kubernetes.io/name": "tidb-cluster", "app.kubernetes.io/managed-by": "tidb-operator",
				"app.kubernetes.io/instance": "gone", "app.kubernetes.io/component": "tikv",
			},
		},
		"spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": "10Gi"}}},
	}
	return serve(t, map[string]any{
		tidbclusters: clusterList(), coreV1 + "pods": map[string]any{"items": pods}, goneSets: map[string]any{"items": []any{}},
		coreV1 + "persistentvolumeclaims":                              map[string]any{"items": []any{claim}},
		"DELETE " + coreV1 + "persistentvolumeclaims/tikv-gone-tikv-0": metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"},
	})
}

func deletions(s *apiServer) (n int) {
	for _, asked := range s.asked() {
		if strings.HasPrefix(asked, "DELETE ") {
			n++
		}
	}
	return n
}

// TestPruneOfGone: the claims of a cluster that is gone are shown and deleted, and only when that is agreed to.
func TestPruneOfGone(t *testing.T) {
	s := orphaned(t, "")
	if r := s.call(t, "pvc", "list"); r.code != 0 || !strings.Contains(r.out, "tikv-gone-tikv-0   gone-tikv-0   Gone    10Gi") {
		t.Errorf("%+v", r)
	}
	if r := s.call(t, "pvc", "prune", "gone", "--dry-run"); r.code != 0 || r.out != "would delete claim tikv-gone-tikv-0, with 10Gi of data of gone-tikv-0: TidbCluster gone is deleted\n" {
		t.Errorf("%+v", r)
	}
	if r := s.call(t, "pvc", "prune", "gone"); r.code != 3 || !strings.Contains(r.err, "pvc prune gone --yes") {
		t.Errorf("%+v", r)
	}
	wantError(t, "no member", s.call(t, "pvc", "prune", "gone", "other-tikv-0", "--yes"), exit.Usage, `"other-tikv-0" is no member of gone`)
	wantError(t, "no claim", s.call(t, "pvc", "prune", "gone", "gone-tikv-7", "--yes"), exit.Usage, "no claim of a member")
	wantError(t, "no cluster", s.call(t, "pvc", "prune", "other", "--yes"), exit.Usage, `there is no TidbCluster "other"`)
	if n := deletions(s); n > 0 {
		t.Fatalf("%d claims were deleted", n)
	}
	if r := s.call(t, "pvc", "prune", "gone", "--yes"); r.code != 0 || r.out != "persistentvolumeclaim/tikv-gone-tikv-0 deleted\n" || deletions(s) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestPruneOfLeftBehind: a claim stays while a StatefulSet of the cluster that is gone makes its pod again.
func TestPruneOfLeftBehind(t *testing.T) {
	s := orphaned(t, "")
	s.answers[goneSets] = map[string]any{"items": []any{map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": "gone-tikv"}, "spec": map[string]any{"replicas": 1},
	}}}
	if r := s.call(t, "pvc", "list"); r.code != 0 || !strings.Contains(r.out, "StatefulSet gone-tikv still exists") {
		t.Errorf("%+v", r)
	}
	wantError(t, "named", s.call(t, "pvc", "prune", "gone", "gone-tikv-0", "--yes", "--despite-pd"), exit.Refused, "StatefulSet gone-tikv still exists")
	if n := deletions(s); n > 0 {
		t.Errorf("%d claims were deleted", n)
	}
}

// TestPruneOfUsed: a claim that a pod mounts stays, whatever is asked for.
func TestPruneOfUsed(t *testing.T) {
	s := orphaned(t, "copy")
	wantError(t, "named", s.call(t, "pvc", "prune", "gone", "gone-tikv-0", "--yes", "--despite-pd"), exit.Refused, "pod copy uses it")
	if r := s.call(t, "pvc", "prune", "gone", "--yes", "--despite-pd"); r.code != 0 || !strings.Contains(r.out, "no claim that may be deleted") {
		t.Errorf("%+v", r)
	}
	if n := deletions(s); n > 0 {
		t.Errorf("%d claims were deleted", n)
	}
}

// TestPVCUsage: wrong arguments.
func TestPVCUsage(t *testing.T) {
	for args, says := range map[string]string{
		"pvc": "list or prune", "pvc delete": "none of list and prune", "pvc list basic -A": "a name does not go with", "pvc prune": "requires at least 1 arg",
	} {
		wantError(t, args, call(t.Context(), t, strings.Fields(args)...), exit.Usage, says)
	}
}
