package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// TestStatusPort: a new configuration turns off the port on which TiDB says whether
// it serves. The rollout stops at the first server and says which; the way back is a
// way back.
func TestStatusPort(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-status-port")
	s.apply(t, "  pd: {baseImage: pingcap/pd, replicas: 1, requests: {storage: 1Gi}, config: {}}\n"+
		"  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 1Gi}, config: {}}\n"+
		"  tidb: {baseImage: pingcap/tidb, replicas: 2, configUpdateStrategy: RollingUpdate, config: \"\", service: {type: ClusterIP}}")
	before := s.podUIDs(t)
	s.patchCluster(t, `{"spec":{"tidb":{"config":"[status]\nreport-status = false\n"}}}`)
	candidate := ""
	code := s.until(t, syscall.SIGINT, func(e event.Event) bool {
		if e.Action == "Restart" && e.Type == event.Started {
			candidate = e.Member
		}
		return candidate != "" && e.Member == candidate && (e.Type == event.Waiting || e.Type == event.Blocked) &&
			strings.Contains(e.Observed, "refuses connections")
	}, "sync", cluster)
	if code != 130 {
		t.Errorf("exit code %d after Ctrl-C, want 130", code)
	}
	s.wantOthersSame(t, before, candidate)
	if up := s.upMembers(t, "tidb"); slices.Contains(up, candidate) {
		t.Errorf("TiDB servers up: %v, want %s not among them", up, candidate)
	}
	s.patchCluster(t, `{"spec":{"tidb":{"config":""}}}`)
	s.tidb(t, 0, "sync", cluster, "--timeout", "3m")
	s.wantConverged(t, 1, 3, 2, from)
	s.wantOthersSame(t, before, candidate)
}

// wantOthersSame asserts that no pod was restarted but one.
func (s environment) wantOthersSame(t *testing.T, before map[string]string, but string) {
	t.Helper()
	after := s.podUIDs(t)
	for name, uid := range before {
		if name != but && after[name] != uid {
			t.Errorf("%s was restarted as well: it is %q and was %q", name, after[name], uid)
		}
	}
}
