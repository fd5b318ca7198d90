package sim

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestFirstPassword: root gets the password of the Secret once, as soon as a server serves.
func TestFirstPassword(t *testing.T) {
	const step = "set the first password of root"
	asked := Options{PD: 3, TiKV: 3, TiDB: 2, FirstPassword: true}
	t.Run("of a new cluster", func(t *testing.T) {
		w := New(asked)
		w.Trace()
		fine(t, w)
		if n := strings.Count(w.Transcript(), step); n != 1 || w.root.password == "" || w.root.password != w.root.secret || !w.root.recorded {
			t.Errorf("%d steps, %+v\n%s", n, w.root, w.Transcript())
		}
		w.Upgrade("v2")
		fine(t, w)
		if strings.Count(w.Transcript(), step) != 1 {
			t.Error(w.Transcript())
		}
	})
	t.Run("only its answer was lost", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
		w.FirstPassword, w.root.password, w.root.secret = true, "first", "first"
		fine(t, w)
		if w.root.password != "first" || !w.root.recorded {
			t.Errorf("%+v", w.root)
		}
	})
	t.Run("the Secret is there", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
		w.FirstPassword, w.root.secret = true, "chosen"
		fine(t, w)
		if w.root.password != "chosen" {
			t.Errorf("%+v", w.root)
		}
	})
	t.Run("a person was first", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
		w.setPasswordByHand()
		theirs := w.root.theirs
		w.FirstPassword = true
		fine(t, w)
		if w.root.password != theirs || w.root.secret != "" || theirs == "" {
			t.Errorf("%+v", w.root)
		}
	})
	t.Run("when there are servers", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, FirstPassword: true})
		if w.root != (root{}) {
			t.Errorf("%+v", w.root)
		}
		w.Scale(topology.TiDB, 1)
		fine(t, w)
		if !w.root.recorded {
			t.Errorf("%+v", w.root)
		}
	})
	t.Run("not while TiDB is suspended", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
		w.Suspend(topology.TiDB)
		fine(t, w)
		w.FirstPassword = true
		fine(t, w)
		if w.root != (root{}) {
			t.Errorf("%+v", w.root)
		}
		w.Suspend()
		fine(t, w)
		if !w.root.recorded {
			t.Errorf("%+v", w.root)
		}
	})
}
