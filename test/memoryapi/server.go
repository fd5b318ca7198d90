package memoryapi

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// kinds are the resources that the server has.
var kinds = map[string]string{
	"configmaps": "ConfigMap", "deployments": "Deployment", "events": "Event", "leases": "Lease", "namespaces": "Namespace",
	"nodes": "Node", "persistentvolumeclaims": "PersistentVolumeClaim", "persistentvolumes": "PersistentVolume", "pods": "Pod",
	"secrets": "Secret", "serviceaccounts": "ServiceAccount", "services": "Service", "statefulsets": "StatefulSet",
	"storageclasses": "StorageClass", "volumeattributesclasses": "VolumeAttributesClass", "tidbclusters": "TidbCluster", "controllerrevisions": "ControllerRevision",
}

// Server is the API server.
type Server struct {
	store    store
	requests atomic.Int64
	advanced atomic.Bool // AdvancedStatefulSets of tidb-operator are known
	managers *managers   // nil: it is not recorded who has written what
	connect  Connect
}

// Requests returns how many requests there have been, besides watches.
func (s *Server) Requests() int64 { return s.requests.Load() }

// New returns a server without any object.
func New() *Server {
	return &Server{connect: connectTo, store: store{version: 1, collections: map[schema.GroupResource]*collection{}}}
}

// Announce sets a function that is told when a watch has events, and that decides when they are sent. It must not use
// the server. Without it they are sent at once.
func (s *Server) Announce(f func(watch string, send func())) { s.store.announce = f }

// request is what a request is about.
type request struct {
	*http.Request
	gv          schema.GroupVersion
	resource    string
	key         types.NamespacedName
	subresource string
	form        string
}

func (r request) kind() schema.GroupVersionKind { return r.gv.WithKind(kinds[r.resource]) }

// dry reports whether the request is to be checked and not carried out.
func (r request) dry() bool { return r.URL.Query().Get("dryRun") == metav1.DryRunAll }

func (r request) in() schema.GroupResource { return r.gv.WithResource(r.resource).GroupResource() }

// parse reads a path: /api/<version> or /apis/<group>/<version>, then namespaces/<namespace> where there is
// one, then the resource, a name and a subresource.
func parse(r *http.Request) (request, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	out := request{Request: r}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		out.gv.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		out.gv.Group, out.gv.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return out, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		out.key.Namespace, parts = parts[1], parts[2:]
	}
	out.resource = parts[0]
	if len(parts) > 1 {
		out.key.Name = parts[1]
	}
	if len(parts) > 2 {
		out.subresource = parts[2]
	}
	out.form = form(r.Header.Get("Accept"), out.gv.Group)
	return out, kinds[out.resource] != ""
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "" {
		s.requests.Add(1)
	}
	if s.answered(w, r) {
		return
	}
	q, ok := parse(r)
	if !ok {
		refuse(w, apierrors.NewNotFound(schema.GroupResource{Resource: r.URL.Path}, ""))
		return
	}
	switch {
	case q.subresource == "portforward":
		s.forward(w, q)
		return
	case q.Method == http.MethodGet && q.URL.Query().Get("watch") != "":
		if err := s.watch(w, q); err != nil {
			refuse(w, err)
		}
		return
	case q.Method == http.MethodGet && q.key.Name == "":
		if err := s.list(w, q); err != nil {
			refuse(w, err)
		}
		return
	}
	got, code, err := s.single(q)
	if err != nil {
		refuse(w, err)
		return
	}
	body, err := got.encode(q.form)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", contentType(q.form))
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// single does what a request asks of one object, and returns the object and the status of the answer.
func (s *Server) single(q request) (got *object, code int, err error) {
	code = http.StatusOK
	switch {
	case q.Method == http.MethodGet:
		got, err = s.store.get(q.in(), q.key)
	case q.Method == http.MethodDelete:
		got, err = s.remove(q)
	case q.Method == http.MethodPost:
		code = http.StatusCreated
		got, err = s.create(q)
	case q.Method == http.MethodPatch && q.applies():
		got, code, err = s.apply(q)
	case q.Method == http.MethodPut, q.Method == http.MethodPatch:
		got, err = s.change(q)
	default:
		err = apierrors.NewMethodNotSupported(q.in(), q.Method)
	}
	return got, code, err
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).ErrStatus
	if known, ok := errors.AsType[*apierrors.StatusError](err); ok {
		status = known.ErrStatus
	}
	status.APIVersion, status.Kind = "v1", "Status"
	w.Header().Set("Content-Type", asJSON)
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

func (s *Server) create(q request) (*object, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	obj, err := decode(body, q.gv.Group)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	m, err := accessor(obj)
	if err != nil {
		return nil, err
	}
	m.SetNamespace(q.key.Namespace)
	m.SetManagedFields(nil)
	if obj, err = s.managers.record(q, nil, obj, q.manager()); err != nil {
		return nil, err
	}
	return s.store.create(q.in(), obj, q.dry())
}

// selection returns what a list or a watch selects.
func (r request) selection() (selection, error) {
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return selection{}, apierrors.NewBadRequest(err.Error())
	}
	sel := selection{namespace: r.key.Namespace, labels: selector}
	if sel.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return selection{}, apierrors.NewBadRequest(err.Error())
	}
	for _, f := range sel.fields.Requirements() {
		if !selects(r.resource, f.Field) {
			return selection{}, apierrors.NewBadRequest(f.Field + " is no field that this server selects by")
		}
	}
	return sel, nil
}

func (s *Server) list(w http.ResponseWriter, q request) error {
	sel, err := q.selection()
	if err != nil {
		return err
	}
	all, version := s.store.list(q.in(), sel)
	w.Header().Set("Content-Type", contentType(q.form))
	if q.form == asProtobuf {
		return protobufList(w, q, all, version)
	}
	kind := q.kind()
	if q.form == asMetadata {
		kind = schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}
	}
	fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"%d"},"items":[`, kind.Kind, kind.GroupVersion(), version)
	for i, o := range all {
		body, err := o.encode(q.form)
		if err != nil {
			return err
		}
		if i > 0 {
			_, _ = io.WriteString(w, ",")
		}
		_, _ = w.Write(body)
	}
	_, _ = io.WriteString(w, "]}")
	return nil
}

func protobufList(w io.Writer, q request, all []*object, version int64) error {
	list, err := scheme.Scheme.New(q.gv.WithKind(kinds[q.resource] + "List"))
	if err != nil {
		return err
	}
	items := make([]runtime.Object, 0, len(all))
	for _, o := range all {
		items = append(items, o.Object)
	}
	if err := meta.SetList(list, items); err != nil {
		return err
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	m.SetResourceVersion(strconv.FormatInt(version, 10))
	list.GetObjectKind().SetGroupVersionKind(q.gv.WithKind(kinds[q.resource] + "List"))
	body, err := encode(list, asProtobuf)
	if err == nil {
		_, err = w.Write(body)
	}
	return err
}

// watch shows events until the client goes, or the time is over for which it has asked.
func (s *Server) watch(w http.ResponseWriter, q request) error {
	sel, err := q.selection()
	if err != nil {
		return err
	}
	query := q.URL.Query()
	since, _ := strconv.ParseInt(query.Get("resourceVersion"), 10, 64)
	ctx := q.Context()
	if seconds, _ := strconv.Atoi(query.Get("timeoutSeconds")); seconds > 0 {
		limited, end := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer end()
		ctx = limited
	}
	events := s.store.watch(ctx, q.in(), sel, query.Get("sendInitialEvents") == "true", since)
	kind := contentType(q.form)
	if q.form == asProtobuf {
		kind += ";stream=watch"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{})
	_ = control.Flush()
	for batch := events.next(ctx); batch != nil; batch = events.next(ctx) {
		for _, e := range batch {
			if err := e.send(w, q); err != nil {
				return nil // the client has gone
			}
		}
		if err := control.Flush(); err != nil {
			return nil
		}
	}
	return nil
}

func (e event) send(w io.Writer, q request) error {
	var body []byte
	var err error
	if e.o == nil {
		body, err = bookmark(e.at, q.form, q.kind())
	} else {
		body, err = e.o.encode(q.form)
	}
	if err != nil {
		return err
	}
	if q.form != asProtobuf {
		_, err = fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", e.how, body)
		return err
	}
	frame, err := (&metav1.WatchEvent{Type: string(e.how), Object: runtime.RawExtension{Raw: body}}).Marshal()
	if err != nil {
		return err
	}
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(frame)))
	if _, err := w.Write(size[:]); err != nil {
		return err
	}
	_, err = w.Write(frame)
	return err
}
