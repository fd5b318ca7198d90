package cluster

import "testing"

func TestCrashFilterSparesTheSandbox(t *testing.T) {
	const want = `labels."io.kubernetes.pod.namespace"=="db",labels."io.kubernetes.pod.name"=="basic-pd-0",labels."io.cri-containerd.kind"==container`
	if got := crashFilter("db", "basic-pd-0"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
