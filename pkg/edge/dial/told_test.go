package dial

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func told0(uid, address string) []*corev1.Pod {
	return []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "basic-pd-0", UID: types.UID(uid)},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address},
	}}
}

// TestTold: the API server is not asked for a pod that the dialer was told, and is asked again afterwards.
func TestTold(t *testing.T) {
	type dialer interface {
		Dialer
		Told
	}
	for name, begin := range map[string]func(*testing.T) (*apiServer, dialer, string){
		"port-forward": func(t *testing.T) (*apiServer, dialer, string) {
			a, p := newAPIServer(t)
			a.listen(2379, echoPath())
			return a, p, pd0
		},
		"direct": func(t *testing.T) (*apiServer, dialer, string) {
			a, d := newDirect(t, "127.0.0.2") // nothing listens there
			return a, d, "basic-pd-0.basic-pd-peer.ns.svc:" + port(t, echoPath())
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, d, addr := begin(t)
			a.set(func() { a.deny["GET pods"] = 500 })
			over := d.Tell(told0("uid-1", "127.0.0.1"))
			for range 2 {
				conn, err := d.connect(t.Context(), "tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				conn.Close()
			}
			over()
			_, err := d.connect(t.Context(), "tcp", addr)
			wantReason(t, err, Unreachable)
		})
	}
}

// TestToldAnother: a pod that was recreated gets a connection of its own, and one that does not run is not
// connected to.
func TestToldAnother(t *testing.T) {
	a, p := newAPIServer(t)
	a.listen(2379, echoPath())
	for _, uid := range []string{"uid-1", "uid-1", "uid-2"} {
		over := p.Tell(told0(uid, ""))
		conn, err := p.DialContext(t.Context(), "tcp", pd0)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		over()
	}
	if got := a.upgrades(); got != "GET GET" {
		t.Errorf("upgrades %q", got)
	}
	ended := told0("uid-2", "")
	ended[0].Status.Phase = corev1.PodFailed
	defer p.Tell(ended)()
	_, err := p.DialContext(t.Context(), "tcp", pd0)
	wantReason(t, err, PodNotRunning)
}

// TestToldByTwo: what one caller has told ends with that caller, and not with another one.
func TestToldByTwo(t *testing.T) {
	var all told
	first, second := told0("uid-1", ""), told0("uid-2", "")
	over, later := all.Tell(first), all.Tell(second)
	key := keyOf(first[0])
	if over(); all.podOf(key) != second[0] {
		t.Error("what the other one has told is gone")
	}
	if later(); all.podOf(key) != nil {
		t.Error("it is still there")
	}
}
