// Package kubernetes joins the Kubernetes half of a sim.Model with the objects in an API server in memory.
//
// The model is the truth of what happens: its StatefulSet controller, kubelets and storage act, second by second. The API server
// holds what clients have written. A Bridge carries both ways:
//
//	b := kubernetes.New(model, api) // also sets what api does with a deletion
//	b.Show()                        // model -> objects: nodes, pods, claims, volumes, statuses
//	...a request is served...
//	b.Written()                     // objects -> model: StatefulSets, claims, pods, the ConfigMap of PD, the TidbCluster
//	b.Show()
//	model.Tick()
//	b.Show()
//
// Call Written after each request that may have changed objects, and Show after that and after each tick. Neither does anything
// where nothing differs, so both may be called too often. All calls are by one goroutine at a time, in which no request is served.
//
// The flaw of a pod template, as the model has it (crashing, noimage, deaf, frail, statusless, refused), is its annotation
// Flaw: a test sets spec.<component>.annotations.
package kubernetes

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// Flaw is the annotation of a pod template that says what is wrong with it.
const Flaw = "sim/flaw"

// The namespace and the name of the cluster in a model.
const (
	Namespace = "db"
	Name      = "basic"
)

// Bridge keeps a model and an API server in step.
type Bridge struct {
	model *sim.Model
	api   *memoryapi.Server
}

// New returns a bridge between a model and an API server.
func New(model *sim.Model, api *memoryapi.Server) *Bridge {
	return &Bridge{model: model, api: api}
}

// Written tells the model what clients have written.
func (b *Bridge) Written() {}

// Show writes into the API server what has become of the model.
func (b *Bridge) Show() {}
