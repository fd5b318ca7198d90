package sim

import (
	"context"
	"errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/daemon"
)

// mirrored is what a daemon sees that does not look past its mirror. It sees Kubernetes as the
// watches have shown it so far, and a database that is asked every time.
func (w *Model) mirrored() (state.Observation, error) {
	fresh := w.look()
	if w.cache == nil || w.t >= w.lag && w.t >= w.away {
		w.remember(&fresh.snap)
		w.cache, w.view = fresh, fresh
		w.lag = w.t + w.rng.Int64N(3) // its own writes come back a little later
		return fresh.answer(), nil
	}
	view := *w.cache
	view.snap = w.overlay(w.cache.snap, fresh.snap)
	w.remember(&view.snap)
	w.view = &view
	return view.answer(), nil
}

// overlay is the Kubernetes half of an old snapshot with the database half of a fresh
// one.
func (w *Model) overlay(old, fresh state.Snapshot) state.Snapshot {
	out := old
	out.At, out.PD, out.Groups = fresh.At, fresh.PD, make(map[topology.Kind]state.Group, len(kinds))
	for k, name := range kinds {
		was, is := old.Groups[name], fresh.Groups[name]
		g := state.Group{Set: was.Set}
		for i := range limit {
			m := state.Member{Kind: name, Ordinal: w.ordinal(i), Name: w.names[k][i], Database: absent(kind(k), fresh.PD)}
			inDatabase, is := is.At(m.Ordinal)
			if is {
				m.Database = inDatabase.Database
			}
			inCache, was := was.At(m.Ordinal)
			if was {
				m.Pod, m.Claims = inCache.Pod, inCache.Claims
			}
			if !is && !was {
				continue
			}
			if kind(k).data() == topology.Store && m.Database.Presence == state.Present {
				// Whether PD has heard of it since its start goes by the pod that is shown.
				s := w.store(m.Database.ID)
				m.Database.Healthy = m.Database.Healthy || m.Database.State == state.StoreUp && (m.Pod == nil || w.proves(s, m.Pod.Started))
			}
			g.Members = append(g.Members, m)
		}
		for n := len(g.Members); n > 0 && g.Members[n-1].Ordinal >= g.Set.Ordinals().End() && empty(g.Members[n-1]); n-- {
			g.Members = g.Members[:n-1]
		}
		out.Groups[name] = g
	}
	return out
}

// absent is what the database says of a member that it does not know.
func absent(k kind, said state.PD) state.Database {
	if k.data() == topology.Raft && said.Problem != "" || k.data() == topology.Store && said.Stores == 0 {
		return state.Database{}
	}
	return state.Database{Presence: state.Absent}
}

func empty(m state.Member) bool {
	return m.Pod == nil && len(m.Claims) == 0 && m.Database.Presence != state.Present
}

// owned writes the status as a daemon does: when there is something to write, and
// only as the driver.
type owned struct {
	w *Model
	t *daemon.Loop
}

// Record implements reconcile.Recorder.
func (o owned) Record(ctx context.Context, seen state.Observation, wanted desired.State, p plan.Plan) error {
	w, s := o.w, seen.Snapshot
	if s.PD.ClusterID == 0 || s.PD.ClusterID == w.recorded {
		return nil
	}
	if _, err := o.t.Own(ctx); err != nil {
		if _, held := errors.AsType[*lease.HeldError](err); held {
			return nil
		}
		return err
	}
	if err := w.request(w.driver); err != nil {
		return err
	}
	w.writes++
	w.judgeLease(func(rule, format string, args ...any) { w.broke(rule, "the status: "+format, args...) })
	return w.Record(ctx, seen, wanted, p)
}
