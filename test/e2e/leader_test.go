package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// leaderWatch sees who leads PD and when PD's pods are replaced, and hears of whom
// the plugin wants to lead.
type leaderWatch struct {
	stop  func()
	mutex sync.Mutex
	asked []move
	seen  []move
	pods  map[string][]string
}

// move is a change of PD's leader.
type move struct{ from, to string }

// watchLeader begins to watch.
func watchLeader(t *testing.T) *leaderWatch {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &leaderWatch{pods: map[string][]string{}}
	var done sync.WaitGroup
	done.Go(func() { w.watch(ctx) })
	w.stop = func() { cancel(); done.Wait() }
	t.Cleanup(w.stop)
	return w
}

func (w *leaderWatch) watch(ctx context.Context) {
	client := shared.pdClient()
	defer client.Close()
	last := ""
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if m, err := client.Leader(ctx); err == nil {
			if last != "" && m.Name != last {
				w.mutex.Lock()
				w.seen = append(w.seen, move{last, m.Name})
				w.mutex.Unlock()
			}
			last = m.Name
		}
		w.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// look notes the pods that there are.
func (w *leaderWatch) look(ctx context.Context) {
	list, err := shared.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=pd"})
	if err != nil {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, p := range list.Items {
		if !slices.Contains(w.pods[p.Name], string(p.UID)) {
			w.pods[p.Name] = append(w.pods[p.Name], string(p.UID))
		}
	}
}

// hear notes what the plugin asks PD for.
func (w *leaderWatch) hear(e event.Event) {
	var m move
	if n, _ := fmt.Sscanf(e.Step, "move PD leader from %s to %s", &m.from, &m.to); n < 2 || e.Type != event.Started {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.asked = append(w.asked, m)
}

// wantOneMoveEach asserts that the plugin took leadership from a member at most once
// for each time that it was restarted, and once more each time that PD has made it
// the leader by an election of its own. How often there is one is not for us to say.
func (w *leaderWatch) wantOneMoveEach(t *testing.T) {
	t.Helper()
	w.stop()
	for name, pods := range w.pods {
		may, moves := len(pods)-1, 0
		for _, m := range w.seen {
			asked := slices.Contains(w.asked, m)
			switch {
			case asked && m.from == name:
				moves++
			case !asked && m.to == name:
				may++
			}
		}
		if moves > may {
			t.Errorf("PD's leader was moved from %s %d times, want %d at most", name, moves, may)
		}
	}
	if len(w.asked) == 0 {
		t.Error("no leader of PD was moved, so this test shows nothing")
	}
	t.Logf("PD leader moves: asked for %v, seen %v", w.asked, w.seen)
}
