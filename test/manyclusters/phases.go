package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// rest has nothing happen. It begins when the daemon has delivered its Events,
// which it does in its own time, or after a minute.
func (h *bench) rest(ctx context.Context, r *result) error {
	from, err := h.usage(ctx)
	for range 12 {
		if err != nil {
			return err
		}
		before := from.writes
		if from, err = h.later(ctx, 5*time.Second); err == nil && from.writes == before {
			break
		}
	}
	if err != nil {
		return err
	}
	r.idleFrom = from
	r.idleTo, err = h.later(ctx, h.idle)
	return err
}

// later is what has been used up after a while.
func (h *bench) later(ctx context.Context, after time.Duration) (usage, error) {
	select {
	case <-ctx.Done():
		return usage{}, context.Cause(ctx)
	case <-time.After(after):
	}
	return h.usage(ctx)
}

// reactions are what becomes of changes of specs: of each the first write that
// serves it, as a watch of StatefulSets shows it.
type reactions struct {
	mu   sync.Mutex
	all  []*asked
	open map[string]*asked // those that nothing has come of, by StatefulSet
}

// asked is a change of a spec.
type asked struct {
	sent, accepted, served time.Time
	replicas               int32
}

// ask notes that a change is sent, and returns what notes that it was accepted.
func (r *reactions) ask(set string, replicas int32) (accepted func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &asked{sent: time.Now(), replicas: replicas}
	r.all, r.open[set] = append(r.all, a), a
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		a.accepted = time.Now()
	}
}

func (r *reactions) saw(set *appsv1.StatefulSet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.open[set.Name]; ok && *set.Spec.Replicas == a.replicas {
		a.served = time.Now()
		delete(r.open, set.Name)
	}
}

// count sorts the times. The daemon may have served a change before the user has
// the answer, which took it no time.
func (r *reactions) count(out *result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.all {
		switch {
		case a.served.IsZero() || a.accepted.IsZero():
			out.silent++
		default:
			out.sent = append(out.sent, a.served.Sub(a.sent))
			out.accepted = append(out.accepted, max(0, a.served.Sub(a.accepted)))
		}
	}
	slices.Sort(out.sent)
	slices.Sort(out.accepted)
}

// change scales TiDB of clusters in a random order, so many per second, and waits
// for all reactions.
func (h *bench) change(ctx context.Context, r *result) error {
	seen := &reactions{open: map[string]*asked{}}
	watching, err := h.sets.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, obj any) { seen.saw(obj.(*appsv1.StatefulSet)) },
	})
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), watching.HasSynced) {
		return context.Cause(ctx)
	}
	if r.busyFrom, err = h.usage(ctx); err != nil {
		return err
	}
	if err := h.scale(ctx, seen); err != nil {
		return err
	}
	if r.busyTo, err = h.usage(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(10 * time.Second): // for the last ones
	}
	seen.count(r)
	return nil
}

func (h *bench) scale(ctx context.Context, seen *reactions) error {
	ticker := time.NewTicker(time.Second / time.Duration(h.rate))
	defer ticker.Stop()
	order, replicas := rand.Perm(h.clusters), int32(3)
	for i := range int(h.changes.Seconds()) * h.rate {
		if i > 0 && i%len(order) == 0 { // once more, the other way round
			replicas = 5 - replicas
		}
		name, patch := h.name(order[i%len(order)]), fmt.Appendf(nil, `{"spec":{"tidb":{"replicas":%d}}}`, replicas)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		accepted := seen.ask(name+"-tidb", replicas)
		go func() {
			_, err := h.dyn.Resource(intent.Resource).Namespace(h.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			if err == nil {
				accepted()
			}
		}()
	}
	return nil
}
