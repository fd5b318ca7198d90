package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaderWatch sees who leads PD and when PD's pods are replaced.
type leaderWatch struct {
	stop  func()
	mutex sync.Mutex
	moves map[string]int // away from a member
	pods  map[string][]string
}

// watchLeader begins to watch.
func watchLeader(t *testing.T) *leaderWatch {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &leaderWatch{moves: map[string]int{}, pods: map[string][]string{}}
	var done sync.WaitGroup
	done.Go(func() { w.watch(ctx) })
	w.stop = func() { cancel(); done.Wait() }
	t.Cleanup(w.stop)
	return w
}

func (w *leaderWatch) watch(ctx context.Context) {
	client := pdClient()
	defer client.Close()
	last := ""
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if m, err := client.Leader(ctx); err == nil {
			if last != "" && m.Name != last {
				w.mutex.Lock()
				w.moves[last]++
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
	list, err := world.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=pd"})
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

// wantOneMoveEach asserts that leadership left a member at most once for each
// time that it was restarted.
func (w *leaderWatch) wantOneMoveEach(t *testing.T) {
	t.Helper()
	w.stop()
	for name, moves := range w.moves {
		if restarts := len(w.pods[name]) - 1; moves > restarts {
			t.Errorf("PD's leader left %s %d times, which was restarted %d times", name, moves, restarts)
		}
	}
	t.Logf("PD leader moves: %v", w.moves)
}
