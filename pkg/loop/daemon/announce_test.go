package daemon

import (
	"errors"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

type heard []corev1.ObjectReference

func (h *heard) Announce(of corev1.ObjectReference, _ event.Event) { *h = append(*h, of) }

// TestAnnounced: an event is on the TidbCluster that exists now, also if it cannot be decoded, and
// on none if it was deleted.
func TestAnnounced(t *testing.T) {
	meta := func(uid, version string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "tidb", Name: "basic", UID: types.UID(uid), ResourceVersion: version}
	}
	first, err := keepWanted(&v1alpha1.TidbCluster{ObjectMeta: meta("u1", "7")})
	if err != nil {
		t.Fatal(err)
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	var got heard
	a := announced{&got, store, cache.NewObjectName("tidb", "basic")}
	for _, tt := range []struct {
		obj  any // nil: deleted
		want string
	}{
		{first, "u1/7"},
		{&intent.Undecodable{ObjectMeta: meta("u2", "9"), Err: errors.New("broken")}, "u2/9"},
		{nil, ""},
	} {
		got = nil
		if tt.obj != nil {
			_ = store.Replace([]any{tt.obj}, "")
		} else {
			_ = store.Replace(nil, "")
		}
		a.Report(event.Event{Type: event.Blocked})
		switch {
		case tt.want == "" && len(got) > 0:
			t.Errorf("announced on %v, want none", got)
		case tt.want != "" && (len(got) != 1 || string(got[0].UID)+"/"+got[0].ResourceVersion != tt.want ||
			got[0].APIVersion != "pingcap.com/v1alpha1" || got[0].Kind != "TidbCluster" || got[0].Namespace != "tidb" || got[0].Name != "basic"):
			t.Errorf("announced on %v, want %s", got, tt.want)
		}
	}
}
