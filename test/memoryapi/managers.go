package memoryapi

import (
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// managers keep which client has written which fields of objects (metadata.managedFields), with the code of Kubernetes
// itself.
type managers struct {
	mu  sync.Mutex
	all map[managerKey]*managedfields.FieldManager
}

type managerKey struct {
	gvk         schema.GroupVersionKind
	subresource string
}

// builtin are the types of Kubernetes' own resources, which take a moment to make.
var builtin = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

// RecordManagers has the server record from now on which client has written which fields, as API servers do. That takes
// time.
func (s *Server) RecordManagers() {
	s.managers = &managers{all: map[managerKey]*managedfields.FieldManager{}}
}

// of returns what keeps the fields of a kind.
func (m *managers) of(q request) (*managedfields.FieldManager, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gvk := q.kind()
	key := managerKey{gvk, q.subresource}
	if known := m.all[key]; known != nil {
		return known, nil
	}
	var made *managedfields.FieldManager
	var err error
	if scheme.Scheme.IsGroupRegistered(gvk.Group) {
		made, err = managedfields.NewDefaultFieldManager(builtin(), scheme.Scheme, none{}, scheme.Scheme, gvk, gvk.GroupVersion(), q.subresource, nil)
	} else {
		made, err = managedfields.NewDefaultCRDFieldManager(
			managedfields.NewDeducedTypeConverter(), none{}, none{}, none{}, gvk, gvk.GroupVersion(), q.subresource, nil)
	}
	if err == nil {
		m.all[key] = made
	}
	return made, err
}

// manager is the name of the client that writes.
func (r request) manager() string {
	if name := r.URL.Query().Get("fieldManager"); name != "" {
		return name
	}
	name, _, _ := strings.Cut(r.UserAgent(), "/")
	return name
}

// record returns an object with the record of who has written its fields. have is nil for a new object.
func (m *managers) record(q request, have, next runtime.Object, by string) (runtime.Object, error) {
	if m == nil {
		return next, nil
	}
	fields, err := m.of(q)
	if err != nil {
		return nil, err
	}
	if have == nil {
		if have, err = q.empty(); err != nil {
			return nil, err
		}
	}
	return fields.Update(have, next, by)
}

// apply returns an object to which a manifest was applied by the server. have is nil for a new object.
func (m *managers) apply(q request, have runtime.Object, body []byte) (runtime.Object, error) {
	if m == nil {
		m = &managers{all: map[managerKey]*managedfields.FieldManager{}}
	}
	applied := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(body, &applied.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if have == nil {
		if uid := applied.GetUID(); uid != "" {
			return nil, apierrors.NewConflict(q.in(), q.key.Name, fmt.Errorf(
				"uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
		}
		var err error
		if have, err = q.empty(); err != nil {
			return nil, err
		}
	}
	fields, err := m.of(q)
	if err != nil {
		return nil, err
	}
	return fields.Apply(have, applied, q.manager(), q.URL.Query().Get("force") == "true")
}

// empty returns an object of which nothing was written.
func (r request) empty() (runtime.Object, error) {
	var obj runtime.Object = &unstructured.Unstructured{}
	if scheme.Scheme.IsGroupRegistered(r.gv.Group) {
		var err error
		if obj, err = scheme.Scheme.New(r.kind()); err != nil {
			return nil, err
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(r.kind())
	m, err := accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetNamespace(r.key.Namespace)
	m.SetName(r.key.Name)
	return obj, nil
}

// none converts and defaults nothing: each resource has one version.
type none struct{}

func (none) Default(runtime.Object) {}

func (none) Convert(in, out, _ any) error {
	return fmt.Errorf("convert %T to %T: there is one version", in, out)
}

func (none) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (none) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (none) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}
