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

	"github.com/kubectl-tidb/kubectl-tidb/pkg/intent"
)

// rest has nothing happen. It begins when the daemon has delivered its Events,
// which it does in its own time, or after a minute.
func (h *herd) rest(ctx context.Context, r *result) error {
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
func (h *herd) later(ctx context.Context, after time.Duration) (usage, error) {
	select {
	case <-ctx.Done():
		return usage{}, context.Cause(ctx)
	case <-time.After(after):
	}
	return h.usage(ctx)
}

// reactions are the times from a change of a spec to the first write that it
// leads to, as a watch of StatefulSets shows it.
type reactions struct {
	mu    sync.Mutex
	asked map[string]asked // by StatefulSet
	took  []time.Duration
}

type asked struct {
	at       time.Time
	replicas int32
}

func (r *reactions) ask(set string, replicas int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[set] = asked{time.Now(), replicas}
}

func (r *reactions) saw(set *appsv1.StatefulSet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.asked[set.Name]; ok && *set.Spec.Replicas == a.replicas {
		r.took = append(r.took, time.Since(a.at))
		delete(r.asked, set.Name)
	}
}

// change scales TiDB of clusters in a random order, so many per second, and waits
// for all reactions.
func (h *herd) change(ctx context.Context, r *result) error {
	seen := &reactions{asked: map[string]asked{}}
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
	seen.mu.Lock()
	defer seen.mu.Unlock()
	slices.Sort(seen.took)
	r.took, r.silent = seen.took, len(seen.asked)
	return nil
}

func (h *herd) scale(ctx context.Context, seen *reactions) error {
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
		seen.ask(name+"-tidb", replicas)
		go func() {
			_, _ = h.dyn.Resource(intent.Resource).Namespace(h.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		}()
	}
	return nil
}
