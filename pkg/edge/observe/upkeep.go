package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// Fresh is how long a foreground run does not read again what only upkeep needs. Volumes and nodes belong to the
// whole Kubernetes cluster. Not every user may list or watch them, a list or watch costs the API server much, and
// nothing urgent depends on them.
const Fresh = 10 * time.Minute

// deniedFor is how long a read is not tried again for which the permission is missing. An administrator may
// grant it while a daemon runs for weeks.
const deniedFor = 10 * time.Minute

// extras remembers what only upkeep needs: volumes by the claim's UID and nodes by name. A nil
// *extras reads nothing, and all of it is unknown.
type extras struct {
	volumes memory[*state.Volume]
	nodes   memory[map[string]string]
}

// memory keeps what was read, and when.
type memory[T any] struct {
	fresh  time.Duration // how long it is not read again
	mu     sync.Mutex
	read   map[string]reading[T]
	denied *state.Gap // the permission to read these objects is missing
	since  time.Time  // when that was seen last
}

type reading[T any] struct {
	at    time.Time
	value T
	gap   *state.Gap // why there is no value
}

// ReadForUpkeep makes the observer also read what only upkeep needs, the volumes of claims and the nodes of stores.
// For the given time they are not read again. A process that only follows does not need it.
func (o *Observer) ReadForUpkeep(fresh time.Duration) {
	if o.extras == nil {
		o.extras = &extras{volumes: memory[*state.Volume]{fresh: fresh}, nodes: memory[map[string]string]{fresh: fresh}}
	}
}

// readOnce returns a value from memory, else from the given read. After a read that failed for a
// passing reason the value is unknown, and nothing is remembered. While the permission is missing, a value that is too
// old is unknown as well.
func (m *memory[T]) readOnce(now time.Time, key string, get func() (T, *state.Gap, error)) T {
	m.mu.Lock()
	known, ok := m.read[key]
	denied := m.denied != nil && now.Sub(m.since) < deniedFor
	m.mu.Unlock()
	if ok && now.Sub(known.at) < m.fresh {
		return known.value
	}
	if denied {
		var unknown T
		return unknown
	}
	value, gap, err := get()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case denial.Of(err) == denial.NotPermitted: // a role that is not loaded yet may be in a moment
		m.denied, m.since = gap, now
	case err == nil:
		m.denied = nil
		if m.read == nil {
			m.read = map[string]reading[T]{}
		}
		m.read[key] = reading[T]{at: now, value: value, gap: gap}
	}
	return value
}

// keep drops all values that are not wanted any more.
func (m *memory[T]) keep(wanted func(key string, value T) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.read, func(key string, r reading[T]) bool { return !wanted(key, r.value) })
}

func (m *memory[T]) forbidden() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.denied != nil
}

// gaps returns the gaps in a fixed order, so that equal observations give equal results.
func (m *memory[T]) gaps() []state.Gap {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []state.Gap
	if m.denied != nil {
		out = append(out, *m.denied)
	}
	for _, key := range slices.Sorted(maps.Keys(m.read)) {
		if gap := m.read[key].gap; gap != nil {
			out = append(out, *gap)
		}
	}
	return out
}

// gaps returns everything that could not be read.
func (e *extras) gaps() []state.Gap {
	if e == nil {
		return nil
	}
	volumes, nodes := e.volumes.gaps(), e.nodes.gaps()
	if e.volumes.forbidden() && e.nodes.forbidden() {
		// Who has rights in one namespace only lacks both, and knows why.
		return []state.Gap{{What: "volumes and nodes", Problem: "not permitted, so reclaim policies, and labels of volumes and stores, stay as they are"}}
	}
	return append(volumes, nodes...)
}

// readVolumes reads the volumes of all bound claims at the same time, by the claim's UID. They are
// added to the claims later, since PD is asked at the same time, and that reads the claims.
func (o *Observer) readVolumes(ctx context.Context, seen objects) map[string]*state.Volume {
	if o.extras == nil {
		return nil
	}
	now := o.readAt() // while nothing moves, hundreds of volumes are not read again
	volumes, bound := map[string]*state.Volume{}, map[string]bool{}
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(atOnce)
	for _, kind := range seen.claims {
		for _, claims := range kind {
			for i := range claims {
				c := &claims[i]
				name, ok := seen.bound[c.UID]
				if !ok {
					continue
				}
				bound[c.UID] = true
				all.Go(func() error {
					v := o.extras.volumes.readOnce(now, c.UID, func() (*state.Volume, *state.Gap, error) {
						return o.readVolume(ctx, name, c)
					})
					mu.Lock()
					defer mu.Unlock()
					volumes[c.UID] = v
					return nil
				})
			}
		}
	}
	_ = all.Wait()
	o.extras.volumes.keep(func(uid string, _ *state.Volume) bool { return bound[uid] })
	return volumes
}

func (o *Observer) readVolume(ctx context.Context, name string, c *state.Claim) (*state.Volume, *state.Gap, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	v, err := o.kube.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case denial.Missing(err):
		return nil, &state.Gap{What: "volumes", Problem: "not permitted, so their reclaim policies and labels stay as they are"}, err
	case apierrors.IsNotFound(err):
		return nil, &state.Gap{
			What:    "volume " + name,
			Problem: fmt.Sprintf("claim %s is bound to it, and it does not exist", c.Name),
			Remedy:  remedy.Remedy{remedy.Say("restore the volume from a backup, or scale the member in and out again to have it recreated")},
		}, nil
	case err != nil:
		return nil, nil, err
	case v.Spec.ClaimRef == nil || string(v.Spec.ClaimRef.UID) != c.UID:
		return nil, nil, nil // the volume belongs, or belonged, to another claim
	}
	return volumeState(v), nil, nil
}

func volumeState(v *corev1.PersistentVolume) *state.Volume {
	return &state.Volume{
		Name: v.Name, UID: string(v.UID), Version: v.ResourceVersion,
		Policy:   string(v.Spec.PersistentVolumeReclaimPolicy),
		Identity: identity(v),
	}
}

// identity returns the identity of an object. It shares the object's maps, which never change.
func identity(o metav1.Object) state.Identity {
	return state.Identity{Labels: o.GetLabels(), Annotations: o.GetAnnotations()}
}

// readNodes reads the labels of the nodes that stores run on, if stores are to get some of them.
func (o *Observer) readNodes(ctx context.Context, c topology.Cluster, s *state.Snapshot) {
	if o.extras == nil || !s.PD.Known() {
		return
	}
	now := o.readAt()
	read := map[string]bool{}
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(atOnce)
	s.Nodes = map[string]map[string]string{}
	for _, g := range c.Groups {
		keys := facts.Locations(s.PD, g.StoreLabels)
		for _, m := range s.Groups[g.Kind].Members {
			if len(keys) == 0 || m.StoreLabels == nil || m.Pod == nil || m.Pod.Node == "" || read[m.Pod.Node] {
				continue
			}
			name := m.Pod.Node
			read[name] = true
			all.Go(func() error {
				labels := o.extras.nodes.readOnce(now, name, func() (map[string]string, *state.Gap, error) {
					return o.readNode(ctx, name)
				})
				mu.Lock()
				defer mu.Unlock()
				if labels != nil {
					s.Nodes[name] = labels
				}
				return nil
			})
		}
	}
	_ = all.Wait()
}

func (o *Observer) readNode(ctx context.Context, name string) (map[string]string, *state.Gap, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	n, err := o.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case denial.Missing(err):
		return nil, &state.Gap{What: "nodes", Problem: "not permitted, so stores keep the location labels that they have"}, err
	case err != nil:
		return nil, nil, err
	}
	return n.Labels, nil, nil
}

// Forget drops what is remembered about the object of a step of upkeep, so that the object is read again. It does so
// whether the step succeeded or not.
func (o *Observer) Forget(next step.Step) {
	s, ok := next.(step.TendVolume)
	if !ok || o.extras == nil {
		return
	}
	o.extras.volumes.keep(func(_ string, v *state.Volume) bool { return v == nil || v.Name != s.Name })
}
