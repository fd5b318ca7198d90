// Package kubernetes joins the Kubernetes half of a sim.Model with the objects in an API server in memory.
//
// The model is the truth of what happens: its StatefulSet controller, kubelets and storage act, second by second. The
// API server holds what clients have written. A Bridge carries both ways:
//
//	b := kubernetes.New(model, api)
//	b.Show()                        // model -> objects: nodes, pods, claims, volumes, statuses
//	...a request is served...
//	b.Written()                     // objects -> model: StatefulSets, claims, pods, the ConfigMap of PD, the TidbCluster
//	b.Show()
//	model.Tick()
//	b.Show()
//
// Call Written after each request that may have changed objects, and Show after that and after each tick. Neither does
// anything where nothing differs, so both may be called too often. All calls are by one goroutine at a time, in which
// no request is served.
//
// The flaw of a pod template, as the model has it (crashing, noimage, deaf, frail, statusless, refused), is its
// annotation Flaw: a test sets spec.<component>.annotations.
package kubernetes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// Flaw is the annotation of a pod template that says what is wrong with it.
const Flaw = "sim/flaw"

// The namespace and the name of the cluster in a model.
const (
	Namespace = "db"
	Name      = "basic"
)

// The resources that a bridge reads or writes.
var (
	tidbClusters = schema.GroupResource{Group: "pingcap.com", Resource: "tidbclusters"}
	plainSets    = schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	revisions    = schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}
	pods         = schema.GroupResource{Resource: "pods"}
	claims       = schema.GroupResource{Resource: "persistentvolumeclaims"}
	volumes      = schema.GroupResource{Resource: "persistentvolumes"}
	nodes        = schema.GroupResource{Resource: "nodes"}
	configMaps   = schema.GroupResource{Resource: "configmaps"}
	services     = schema.GroupResource{Resource: "services"}
	classes      = schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}
)

// Bridge keeps a model and an API server in step.
type Bridge struct {
	model   *sim.Model
	api     *memoryapi.Server
	cluster topology.Cluster

	templates map[topology.Kind]*templates
	sets      map[topology.Kind]string // the UIDs of the StatefulSets that the model knows
	shown     map[string]shownPod      // pods that are in the API server, by their UIDs
	claims    map[string]bool          // claims as well
	read      map[string]string        // the versions of the objects that were read last, by what they are
	done      map[string]done          // by UIDs
	intent    intent
	report    func(*corev1.Pod)
	denied    string
	advanced  bool // the StatefulSets are AdvancedStatefulSets
}

// Report changes what Kubernetes shows of each pod from now on, nil for nothing. The model does not know that.
func (b *Bridge) Report(change func(*corev1.Pod)) {
	b.report = change
	clear(b.done)
}

// Deny has the StatefulSet controller report another reason why no pod with the flaw "refused" is made.
func (b *Bridge) Deny(why string) { b.denied = why }

// New returns a bridge between a model and an API server, which need not be empty.
func New(model *sim.Model, api *memoryapi.Server) *Bridge {
	b := &Bridge{
		model: model, api: api, cluster: topology.Cluster{Namespace: Namespace, Name: Name, Instance: Name},
		templates: map[topology.Kind]*templates{}, sets: map[topology.Kind]string{}, shown: map[string]shownPod{},
		claims: map[string]bool{}, read: map[string]string{}, done: map[string]done{},
	}
	for _, k := range sim.Kinds() {
		b.templates[k] = newTemplates()
	}
	api.RecordManagers()
	b.showOnce()
	return b
}

// Written tells the model what clients have written. It also does what the garbage collector does at once.
func (b *Bridge) Written() {
	b.collect()
	for _, k := range sim.Kinds() {
		b.writtenSet(k)
		b.writtenPods(k)
		b.writtenClaims(k)
	}
	b.writtenAdvice()
	b.writtenIntent()
}

// Show writes into the API server what has become of the model.
func (b *Bridge) Show() {
	for _, k := range sim.Kinds() {
		b.showSet(k)
		b.showClaims(k)
		b.showPods(k)
		b.showStatus(k)
		b.showRefusals(k)
	}
	b.showNodes()
}

// done is what was shown of an object last. It has the state in the model, and the object that was written for that
// state.
type done struct {
	state  any
	object runtime.Object
}

// isDone reports whether an object is as it was shown. Neither its state in the model nor the object itself has changed
// since then.
func (b *Bridge) isDone(uid string, state any, object runtime.Object) bool {
	was, known := b.done[uid]
	return known && was.state == state && was.object == object
}

// get returns an object of the cluster's namespace, the zero value where there is none. The object must not be changed.
func get[T runtime.Object](b *Bridge, r schema.GroupResource, name string) (T, bool) {
	obj, ok := b.api.Get(r, Namespace, name).(T)
	return obj, ok
}

// list returns the objects of the cluster's namespace.
func list[T runtime.Object](b *Bridge, r schema.GroupResource) []T {
	var all []T
	for _, obj := range b.api.List(r, Namespace) {
		if o, ok := obj.(T); ok {
			all = append(all, o)
		}
	}
	return all
}

// changed reports whether an object has changed since it was read last, and remembers its version.
func (b *Bridge) changed(what, version string) bool {
	if b.read[what] == version {
		return false
	}
	b.read[what] = version
	return true
}

func podOf(b *Bridge, k topology.Kind, ordinal int) (*corev1.Pod, bool) {
	return get[*corev1.Pod](b, pods, b.cluster.PodName(k, ordinal))
}
