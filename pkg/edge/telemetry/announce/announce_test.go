package announce

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

var basic = corev1.ObjectReference{
	APIVersion: "pingcap.com/v1alpha1", Kind: "TidbCluster", Namespace: "tidb", Name: "basic", UID: "u1", ResourceVersion: "7",
}

func TestAnnouncement(t *testing.T) {
	step := event.Event{Action: "EvictLeaders", Component: "tikv", Member: "basic-tikv-2", Step: "evict region leaders from basic-tikv-2"}
	of := func(typ event.Type, e event.Event) event.Event { e.Type = typ; return e }
	failed := of(event.Failed, step)
	failed.Error = "basic-pd-0: no leader"
	gate := event.Event{Component: "tikv", Member: "basic-tikv-2", Reason: "MemberServing", Message: "basic-tikv-2 not serving: no node fits", Observed: "no node fits", Remedy: []remedy.Advice{{Text: "add a node"}}}
	canary := event.Event{
		Component: "tikv", Reason: "CanaryPromoted", Message: "TiKV: canary not promoted: 1 of 3 members updated",
		Remedy: []remedy.Advice{{Text: "to go on with the others", Command: "kubectl tidb promote basic"}},
	}
	promoted := event.Event{Component: "tikv", Reason: "CanaryPromoted", Message: "TiKV: canary promoted"}
	dropped := promoted
	dropped.Outcome = event.OutcomeDropped
	for _, tt := range []struct {
		e    event.Event
		want string // "" if it is not announced
	}{
		{of(event.Planned, event.Event{Outcome: "act"}), ""},
		{of(event.Started, step), ""},
		{of(event.Finished, step), "Normal EvictLeaders evict region leaders from basic-tikv-2"},
		{failed, "Warning StepFailed evict region leaders from basic-tikv-2: basic-pd-0: no leader"},
		{event.Event{Type: event.Failed, Step: "observe the cluster", Error: "forbidden"}, "Warning ObserveFailed observe the cluster: forbidden"},
		{of(event.Waiting, gate), ""},
		{of(event.Passed, gate), ""},
		{of(event.Blocked, gate), "Warning Blocked basic-tikv-2 not serving: no node fits; add a node"},
		{event.Event{Type: event.Blocked, Component: "tikv", Reason: "VolumeResized", Message: "TiKV: volume not resized"}, "Warning Blocked TiKV: volume not resized"},
		{event.Event{Type: event.Blocked, Message: "a name that fits"}, "Warning Blocked a name that fits"},
		{of(event.Waiting, canary), "Normal CanaryHeld TiKV: canary not promoted: 1 of 3 members updated; to go on with the others: kubectl tidb promote basic"},
		{of(event.Passed, promoted), "Normal CanaryPromoted TiKV: canary promoted"},
		{of(event.Passed, dropped), ""},
		{of(event.Progress, event.Event{Component: "tikv"}), ""},
		{event.Event{Type: event.Notice, Message: "another process drives the cluster; following, making no changes"}, ""},
		{event.Event{Type: event.Notice, Reason: "NotReadable", Message: "cannot read nodes", Remedy: []remedy.Advice{{Text: "get the permission"}}}, "Warning NotReadable cannot read nodes; get the permission"},
		{event.Event{Type: event.Done, Outcome: event.OutcomeConverged, Seconds: 61.4}, "Normal Converged the cluster has converged, after 1m1s"},
		{event.Event{Type: event.Done, Outcome: event.OutcomePaused, Seconds: 5}, "Normal Paused the cluster is paused, after 5s of work; nothing is done until it is resumed"},
		{event.Event{Type: event.Done, Outcome: event.OutcomeInterrupted}, ""},
	} {
		kind, reason, text := announcement(tt.e)
		if got := strings.TrimSpace(kind + " " + reason + " " + text); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.e.Type, got, tt.want)
		}
	}
}

// written returns a channel with each event that is written, as it is then.
func written(kube *fake.Clientset) <-chan *corev1.Event {
	out := make(chan *corev1.Event, 100)
	onWrite := func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case clienttesting.CreateAction:
			out <- a.GetObject().(*corev1.Event).DeepCopy()
		case clienttesting.PatchAction:
			out <- &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: a.GetName()}, Message: string(a.GetPatch())}
		}
		return false, nil, nil
	}
	kube.PrependReactor("*", "events", onWrite)
	return out
}

func next(t *testing.T, from <-chan *corev1.Event) *corev1.Event {
	t.Helper()
	select {
	case e := <-from:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event was written")
		return nil
	}
}

// TestAnnounce: an event has the fields by which describe finds it, and a repeated event is
// counted, not written again.
func TestAnnounce(t *testing.T) {
	kube := fake.NewClientset()
	out := written(kube)
	a := New(t.Context(), kube, "here")
	defer a.Close()
	blocked := event.Event{Type: event.Blocked, Component: "tikv", Reason: "VolumeResized", Message: "TiKV: volume not resized"}
	a.Announce(basic, event.Event{Type: event.Waiting, Message: "is not announced"})
	a.Announce(basic, blocked)
	e := next(t, out)
	if e.InvolvedObject != basic || e.Namespace != "tidb" || e.Type != "Warning" || e.Reason != Blocked || e.Count != 1 ||
		e.Source != (corev1.EventSource{Component: Component, Host: "here"}) {
		t.Errorf("got %+v", e)
	}
	a.Announce(basic, blocked)
	if again := next(t, out); again.Name != e.Name || !strings.Contains(again.Message, `"count":2`) {
		t.Errorf("again: %+v", again)
	}
}

// TestFlood: a step that fails in another way each time does not fill the namespace, and does not
// prevent other events.
func TestFlood(t *testing.T) {
	kube := fake.NewClientset()
	out := written(kube)
	a := New(t.Context(), kube, "here")
	defer a.Close()
	for i := range 500 {
		a.Announce(basic, event.Event{Type: event.Failed, Action: "Apply", Step: "create", Error: strings.Repeat("x", i)})
	}
	a.Announce(basic, event.Event{Type: event.Done, Outcome: event.OutcomeConverged})
	failures := map[string]int{}
	for e := next(t, out); e.Reason != Converged; e = next(t, out) {
		failures[e.Name]++
	}
	if n := len(failures); n < 2 || n > alike+1 {
		t.Errorf("%d events of one failure", n)
	}
}

func TestCut(t *testing.T) {
	for _, text := range []string{"short", strings.Repeat("a", longest), strings.Repeat("ä", longest), "a" + strings.Repeat("ä", longest)} {
		got := cut(text)
		if len(got) > longest || !utf8.ValidString(got) || len(text) <= longest && got != text || len(got) < min(len(text), longest-5) {
			t.Errorf("%d bytes became %d: %q", len(text), len(got), got)
		}
	}
}

// TestReasons holds docs/events.md to the reasons. Those of steps are their
// actions, which package plan holds to the page.
func TestReasons(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Kubernetes Events\n")
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		got = append(got, row[1])
	}
	if want := []string{StepFailed, ObserveFailed, Blocked, Converged, Paused, CanaryHeld, CanaryPromoted}; !slices.Equal(got, want) {
		t.Errorf("documented are %q, and there are %q", got, want)
	}
}
