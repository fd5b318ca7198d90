package memoryapi

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// These are for who runs in the same process, such as a controller: no request is made, and no precondition is asked.

// Get returns an object, nil when there is none. It must not be changed.
func (s *Server) Get(r schema.GroupResource, namespace, name string) runtime.Object {
	got, err := s.store.get(r, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil
	}
	return got.Object
}

// List returns the objects of a resource in a namespace, "" for all, by their names. They must not be changed.
func (s *Server) List(r schema.GroupResource, namespace string) []runtime.Object {
	found, _ := s.store.list(r, selection{namespace: namespace, labels: labels.Everything(), fields: fields.Everything()})
	all := make([]runtime.Object, 0, len(found))
	for _, o := range found {
		all = append(all, o.Object)
	}
	return all
}

// Version returns the version of the last write.
func (s *Server) Version() int64 {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.store.version
}

// Put writes an object with its UID, its times and its status. Where no object has the name, Put creates the object.
// Where nothing differs, Put makes no new version. The object that Put returns must not be changed, because the server
// keeps it.
func (s *Server) Put(r schema.GroupResource, obj runtime.Object) runtime.Object {
	next := obj.DeepCopyObject()
	meta, err := accessor(next)
	if err != nil {
		panic(fmt.Sprintf("memoryapi: %v", err))
	}
	name(next)
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	c := s.store.collection(r)
	have := c.objects[keyOf(meta)]
	if have == nil {
		if meta.GetUID() == "" {
			meta.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", s.store.version+1)))
		}
		if made := meta.GetCreationTimestamp(); made.IsZero() {
			meta.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
		}
		meta.SetGeneration(max(1, meta.GetGeneration()))
		return s.store.put(c, watch.Added, next, meta).Object
	}
	if unchanged(have, next, meta) {
		return have.Object
	}
	return s.store.put(c, watch.Modified, next, meta).Object
}

// PutBy is Put by a client, of which the server records what it has written.
func (s *Server) PutBy(manager string, r schema.GroupResource, obj runtime.Object) runtime.Object {
	next := obj.DeepCopyObject()
	name(next)
	meta, err := accessor(next)
	if err != nil {
		panic(fmt.Sprintf("memoryapi: %v", err))
	}
	q := request{gv: next.GetObjectKind().GroupVersionKind().GroupVersion(), resource: r.Resource, key: keyOf(meta)}
	recorded, err := s.managers.record(q, s.Get(r, meta.GetNamespace(), meta.GetName()), next, manager)
	if err != nil {
		panic(fmt.Sprintf("memoryapi: %v", err))
	}
	return s.Put(r, recorded)
}

// Remove deletes an object for good, whatever finalizers it has. It reports whether there was one.
func (s *Server) Remove(r schema.GroupResource, namespace, name string) bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	c := s.store.collection(r)
	have := c.objects[types.NamespacedName{Namespace: namespace, Name: name}]
	if have == nil {
		return false
	}
	gone := have.DeepCopyObject()
	meta, err := accessor(gone)
	if err != nil {
		panic(fmt.Sprintf("memoryapi: %v", err))
	}
	s.store.put(c, watch.Deleted, gone, meta)
	return true
}

// Resources returns the resources of which there are objects, by their names.
func (s *Server) Resources() []schema.GroupResource {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	var all []schema.GroupResource
	for r, c := range s.store.collections {
		if len(c.objects) > 0 {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupResource) int { return cmp.Compare(a.String(), b.String()) })
	return all
}

// name sets the kind of an object of Kubernetes' own, which a client that is sent the object needs.
func name(obj runtime.Object) {
	if !obj.GetObjectKind().GroupVersionKind().Empty() {
		return
	}
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil && len(kinds) > 0 {
		obj.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
}
