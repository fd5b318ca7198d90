// Package memoryapi is an API server in memory, for benchmarks: as much of Kubernetes' API as the plugin and
// the programs around it use, in a process that costs the machine little. It has no authentication, no
// validation, no defaults, no controllers and no limits, forgets everything at its end, and shows each
// change to watches at once.
package memoryapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// instance is the label by which most lists select, so that there is an index by it.
const instance = "app.kubernetes.io/instance"

// object is one version of an object. It does not change.
type object struct {
	runtime.Object
	meta    metav1.Object
	version int64

	mu      sync.Mutex
	encoded map[string][]byte // by the form that a client takes
}

// collection is all objects of one resource, in all namespaces.
type collection struct {
	resource schema.GroupResource
	objects  map[types.NamespacedName]*object
	of       map[string]map[types.NamespacedName]*object // by their instance
	deleted  []*object                                   // in the order in which they were deleted
	watches  map[*watcher]struct{}
}

// store is the content of the server.
type store struct {
	mu          sync.Mutex
	version     int64
	announce    func(watch string, send func())
	collections map[schema.GroupResource]*collection
}

func (s *store) collection(r schema.GroupResource) *collection {
	c := s.collections[r]
	if c == nil {
		c = &collection{
			resource: r, objects: map[types.NamespacedName]*object{}, of: map[string]map[types.NamespacedName]*object{},
			watches: map[*watcher]struct{}{},
		}
		s.collections[r] = c
	}
	return c
}

// selection is which objects of a collection a request is about.
type selection struct {
	namespace string // "" for all
	labels    labels.Selector
	fields    fields.Selector
}

// String returns the selection as text.
func (w selection) String() string {
	return w.namespace + " " + w.labels.String() + " " + w.fields.String()
}

func (w selection) matches(o *object) bool {
	return (w.namespace == "" || w.namespace == o.meta.GetNamespace()) && w.labels.Matches(labels.Set(o.meta.GetLabels())) &&
		(w.fields.Empty() || w.fields.Matches(fieldsOf(o)))
}

// list returns the objects that are selected, and the version of the server.
func (s *store) list(r schema.GroupResource, w selection) ([]*object, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collection(r).selected(w), s.version
}

func (c *collection) selected(w selection) []*object {
	among := c.objects
	if of, ok := w.labels.RequiresExactMatch(instance); ok {
		among = c.of[of]
	}
	var out []*object
	for _, o := range among {
		if w.matches(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *object) int {
		return cmp.Or(cmp.Compare(a.meta.GetNamespace(), b.meta.GetNamespace()), cmp.Compare(a.meta.GetName(), b.meta.GetName()))
	})
	return out
}

func (s *store) get(r schema.GroupResource, key types.NamespacedName) (*object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.collection(r).objects[key]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(r, key.Name)
}

// create adds an object.
func (s *store) create(r schema.GroupResource, obj runtime.Object, dry bool) (*object, error) {
	meta, err := accessor(obj)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collection(r)
	if meta.GetName() == "" {
		meta.SetName(meta.GetGenerateName() + strconv.FormatInt(s.version, 36))
	}
	key := keyOf(meta)
	if c.objects[key] != nil {
		return nil, apierrors.NewAlreadyExists(r, key.Name)
	}
	meta.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", s.version+1)))
	meta.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	meta.SetGeneration(1)
	if dry {
		return unstored(obj, meta), nil
	}
	return s.put(c, watch.Added, obj, meta), nil
}

// update replaces an object by what change makes of it.
func (s *store) update(r schema.GroupResource, key types.NamespacedName, dry bool, change func(runtime.Object) (runtime.Object, error)) (*object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.collection(r)
	have := c.objects[key]
	if have == nil {
		return nil, apierrors.NewNotFound(r, key.Name)
	}
	next, err := change(have.DeepCopyObject())
	if err != nil {
		return nil, err
	}
	meta, err := accessor(next)
	if err != nil {
		return nil, err
	}
	if v := meta.GetResourceVersion(); v != "" && v != have.meta.GetResourceVersion() {
		return nil, apierrors.NewConflict(r, key.Name, errors.New("it was changed meanwhile"))
	}
	if err := sameUID(r, have.meta, meta); err != nil {
		return nil, err
	}
	meta.SetUID(have.meta.GetUID())
	meta.SetCreationTimestamp(have.meta.GetCreationTimestamp())
	meta.SetDeletionTimestamp(have.meta.GetDeletionTimestamp())
	meta.SetDeletionGracePeriodSeconds(have.meta.GetDeletionGracePeriodSeconds())
	switch {
	case dry:
		return unstored(next, meta), nil
	case released(have.meta, meta):
		return s.put(c, watch.Deleted, next, meta), nil
	case unchanged(have, next, meta):
		return have, nil
	}
	return s.put(c, watch.Modified, next, meta), nil
}

// unstored is what a dry run answers with: the object as it would be, of which nothing is kept.
func unstored(obj runtime.Object, meta metav1.Object) *object {
	return &object{Object: obj, meta: meta, encoded: map[string][]byte{}}
}

// put keeps the next version of an object, and shows it to watches.
func (s *store) put(c *collection, how watch.EventType, obj runtime.Object, meta metav1.Object) *object {
	s.version++
	meta.SetResourceVersion(strconv.FormatInt(s.version, 10))
	o, key := &object{Object: obj, meta: meta, version: s.version, encoded: map[string][]byte{}}, keyOf(meta)
	before := c.objects[key]
	if before != nil {
		delete(c.of[before.meta.GetLabels()[instance]], key)
	}
	if how == watch.Deleted {
		delete(c.objects, key)
		c.keepDeleted(o)
	} else {
		c.objects[key] = o
		of := meta.GetLabels()[instance]
		if c.of[of] == nil {
			c.of[of] = map[types.NamespacedName]*object{}
		}
		c.of[of][key] = o
	}
	for w := range c.watches {
		w.see(how, before, o)
	}
	return o
}

func keyOf(m metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
}

func accessor(obj runtime.Object) (metav1.Object, error) {
	m, ok := obj.(metav1.Object)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%T is no object", obj))
	}
	return m, nil
}
