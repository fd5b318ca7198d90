package maintenance

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestNodeGone: a node that was deleted during its maintenance, or deleted and made again, keeps no store without
// leaders and no cluster marked, wherever the command is killed.
func TestNodeGone(t *testing.T) {
	for _, again := range []bool{false, true} {
		for left := range 5 {
			w := newWorld()
			if _, err := w.start(t, -1); err != nil {
				t.Fatal(err)
			}
			if err := w.kube.CoreV1().Nodes().Delete(t.Context(), "node-0", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			why := "the node does not exist any more"
			if again {
				why = "its record is gone"
				w.makeNode(t)
			}
			_, err := w.stop(t, left)
			if (left < 4) != errors.Is(err, errKilled) {
				t.Errorf("stop after %d: %v", left, err)
			}
			out, err := w.stop(t, -1)
			if left < 2 && (err != nil || out != "the maintenance of node-0 has ended for ns/a, ns/b; "+why+", so no member was waited for\n") {
				t.Errorf("%v, %q", err, out)
			}
			out, err = w.stop(t, -1)
			_, absent := errors.AsType[*absentError](err)
			if !again && (exit.Of(err) != exit.Usage || !absent) || again && out != "node-0 is not under maintenance; nothing was changed\n" {
				t.Errorf("nothing is left: %v, %q", err, out)
			}
			if !again {
				w.makeNode(t)
			}
			if w.state(t) != before {
				t.Errorf("stop after %d: %s", left, w.state(t))
			}
		}
	}
}

func (w *world) makeNode(t *testing.T) {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}}
	if _, err := w.kube.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
