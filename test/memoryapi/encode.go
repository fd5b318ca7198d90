package memoryapi

import (
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// The forms in which clients take objects.
const (
	asJSON     = "application/json"
	asProtobuf = "application/vnd.kubernetes.protobuf"
	asMetadata = "application/json;as=PartialObjectMetadata"
)

var proto = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// form returns the form in which a client takes objects of a group: the definition of TidbClusters has no
// protobuf.
func form(accept string, group string) string {
	switch {
	case strings.Contains(accept, "as=PartialObjectMetadata"):
		return asMetadata
	case strings.Contains(accept, "protobuf") && scheme.Scheme.IsGroupRegistered(group):
		return asProtobuf
	}
	return asJSON
}

// contentType is what an answer in a form says of itself.
func contentType(form string) string {
	kind, _, _ := strings.Cut(form, ";")
	return kind
}

// encode returns the object in a form. It is encoded once for all clients.
func (o *object) encode(form string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if body, ok := o.encoded[form]; ok {
		return body, nil
	}
	obj := o.Object
	if form == asMetadata {
		partial := meta.AsPartialObjectMetadata(o.meta)
		partial.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
		obj = partial
	}
	body, err := encode(obj, form)
	if err == nil {
		o.encoded[form] = body
	}
	return body, err
}

func encode(obj runtime.Object, form string) ([]byte, error) {
	if form == asProtobuf {
		return runtime.Encode(proto, obj)
	}
	return json.Marshal(obj)
}

// decode reads an object that a client sends.
func decode(body []byte, group string) (runtime.Object, error) {
	if !scheme.Scheme.IsGroupRegistered(group) {
		u := &unstructured.Unstructured{}
		return u, u.UnmarshalJSON(body)
	}
	obj, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err == nil {
		obj.GetObjectKind().SetGroupVersionKind(*kind)
	}
	return obj, err
}

// bookmark is an object that only says how far a watch is: here, that all there was has been shown.
func bookmark(version int64, form string, kind schema.GroupVersionKind) ([]byte, error) {
	m := metav1.ObjectMeta{
		ResourceVersion: strconv.FormatInt(version, 10), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}
	if form == asMetadata {
		kind = schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}
	}
	if form != asProtobuf {
		apiVersion, kind := kind.ToAPIVersionAndKind()
		return json.Marshal(metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, ObjectMeta: m})
	}
	obj, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	o, err := accessor(obj)
	if err != nil {
		return nil, err
	}
	o.SetResourceVersion(m.ResourceVersion)
	o.SetAnnotations(m.Annotations)
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return runtime.Encode(proto, obj)
}
