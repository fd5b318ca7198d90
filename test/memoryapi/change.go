package memoryapi

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// patches are those that the server takes, besides a manifest that it applies.
var patches = []types.PatchType{types.MergePatchType, types.StrategicMergePatchType, types.JSONPatchType}

// change writes over an object: all of it, its status, or what a merge patch names.
func (s *Server) change(q request) (*object, error) {
	if kind := q.Header.Get("Content-Type"); q.Method == http.MethodPatch && !slices.Contains(patches, types.PatchType(kind)) {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
			Message: fmt.Sprintf("this server takes no patch of the type %q", kind),
		}}
	}
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	return s.update(q, func(have runtime.Object) (runtime.Object, error) {
		next, err := q.next(have, body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return next, nil
	})
}

// applies reports whether a patch is a manifest that the server applies.
func (r request) applies() bool { return r.Header.Get("Content-Type") == string(types.ApplyPatchType) }

// apply applies a manifest, and creates the object where there is none.
func (s *Server) apply(q request) (*object, int, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, 0, err
	}
	if _, err := s.store.get(q.in(), q.key); apierrors.IsNotFound(err) {
		obj, err := s.managers.apply(q, nil, body)
		if err != nil {
			return nil, 0, err
		}
		got, err := s.store.create(q.in(), obj, q.dry())
		return got, http.StatusCreated, err
	}
	got, err := s.update(q, func(have runtime.Object) (runtime.Object, error) { return s.managers.apply(q, have, body) })
	return got, http.StatusOK, err
}

// update writes over an object with what make returns, as far as the request may change the object.
func (s *Server) update(q request, make func(have runtime.Object) (runtime.Object, error)) (*object, error) {
	return s.store.update(q.in(), q.key, q.dry(), func(have runtime.Object) (runtime.Object, error) {
		next, err := make(have.DeepCopyObject())
		if err != nil {
			return nil, err
		}
		m, err := accessor(next)
		if err != nil {
			return nil, err
		}
		before, err := accessor(have)
		if err != nil {
			return nil, err
		}
		m.SetNamespace(q.key.Namespace)
		m.SetGeneration(before.GetGeneration())
		if q.settle(have, next) {
			m.SetGeneration(before.GetGeneration() + 1)
		}
		if q.applies() {
			return next, nil
		}
		return s.managers.record(q, have, next, q.manager())
	})
}

func (r request) next(have runtime.Object, body []byte) (runtime.Object, error) {
	if r.Method != http.MethodPatch {
		return decode(body, r.gv.Group)
	}
	now, err := json.Marshal(have)
	if err != nil {
		return nil, err
	}
	after, err := patched(types.PatchType(r.Header.Get("Content-Type")), now, body, have)
	if err != nil {
		return nil, err
	}
	return decode(after, r.gv.Group)
}

// patched returns the JSON of an object after a patch. A strategic one needs to know the type of the object.
func patched(kind types.PatchType, now, patch []byte, obj runtime.Object) ([]byte, error) {
	_, custom := obj.(*unstructured.Unstructured)
	switch {
	case kind == types.JSONPatchType:
		steps, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, err
		}
		return steps.Apply(now)
	case kind == types.StrategicMergePatchType && !custom:
		return strategicpatch.StrategicMergePatch(now, patch, obj)
	}
	return jsonpatch.MergePatch(now, patch)
}

// settle leaves to an object what a write may not change, its status or everything else, and reports
// whether what is wanted has changed.
func (r request) settle(have, next runtime.Object) bool {
	if custom, is := next.(*unstructured.Unstructured); is {
		return r.settleCustom(have.(*unstructured.Unstructured), custom)
	}
	before, after := reflect.ValueOf(have).Elem(), reflect.ValueOf(next).Elem()
	status := after.FieldByName("Status")
	if r.subresource == "status" {
		written := reflect.New(status.Type()).Elem()
		written.Set(status)
		after.Set(before)
		after.FieldByName("Status").Set(written)
		return false
	}
	if status.IsValid() {
		status.Set(before.FieldByName("Status"))
	}
	spec := after.FieldByName("Spec")
	return spec.IsValid() && !reflect.DeepEqual(spec.Interface(), before.FieldByName("Spec").Interface())
}

// settleCustom is settle for an object of a definition. Only the definition of TidbCluster has no status of its own.
func (r request) settleCustom(have, next *unstructured.Unstructured) bool {
	const status = "status"
	if r.resource == "tidbclusters" {
		return !reflect.DeepEqual(content(have), content(next))
	}
	if r.subresource == status {
		written := next.Object[status]
		next.Object = maps.Clone(have.Object)
		next.Object[status] = written
		return false
	}
	delete(next.Object, status)
	if kept, has := have.Object[status]; has {
		next.Object[status] = kept
	}
	return !reflect.DeepEqual(content(have), content(next))
}

// content is all of an object but its metadata.
func content(u *unstructured.Unstructured) map[string]any {
	all := maps.Clone(u.Object)
	delete(all, "metadata")
	return all
}
