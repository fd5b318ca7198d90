// Package wire is the tier of the simulation that ends at the wire. Commands run as they ship, from cobra down to
// bytes, and only the world outside is made.
//
// The world is sim.Model, which both tiers share. Package kubernetes shows the Kubernetes half as objects of an API
// server in memory. Package database shows the other half as the answers of PD, TiKV and the other members. Both
// translate what a command writes into changes of the model. Connections are pipes (package network). All of it is on
// virtual time (testing/synctest).
//
// All requests, connections and events of watches wait in one queue. When every goroutine waits, the seed decides which
// is next. On one processor the same seed gives the same run. Requests that are equal and wait at the same moment are
// answered together, since only Go's scheduler knows which of them is whose.
package wire

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/database"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/network"
)

// apiServer is the host of the API server.
const apiServer = "api.memory:80"

// World is a Kubernetes cluster with a TiDB cluster in it, and the network to them.
type World struct {
	Model  *sim.Model
	Faults Faults

	api        *memoryapi.Server
	kube       *kubernetes.Bridge
	members    *database.Database
	network    *network.Network
	queue      *queue
	rng        *rand.Rand
	kubeconfig string
	places     map[string]place // by their addresses
	cut        map[member]bool
	cluster    topology.Cluster
	encrypted  bool // members speak TLS
	advanced   bool // the StatefulSets are AdvancedStatefulSets
	// distrusting are members that accept no certificate of a client, as with an authority that is not theirs.
	distrusting []member
	requests    []Request
	printed     []string // by commands
	record      *record  // nil: nothing is kept
	running     *process // the command that may stand still; nil for none
	stopping    bool     // the command stands still from now on
	asleep      []late
	chance      float64   // what decides whether the requests fail that are answered now
	next        time.Time // when the model goes on
	held        chan struct{}
}

// hold takes the world for one goroutine: the goroutine that answers requests, or the script of the test. The script
// gives the world back while it waits. The lock is a channel, because virtual time stops while a goroutine waits for a
// mutex.
func (w *World) hold() { w.held <- struct{}{} }

// leave lets others use the world.
func (w *World) leave() { <-w.held }

// Sleep lets time pass in a script.
func (w *World) Sleep(d time.Duration) {
	w.leave()
	defer w.hold()
	time.Sleep(d)
}

// Request is a request that was answered.
type Request struct {
	At     time.Time
	Server string // a pod, or the API server
	What   string // its method and URI
}

// Run makes a world on virtual time, runs a script in it, and ends it.
func Run(t *testing.T, o sim.Options, script func(*testing.T, *World)) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := memoryapi.Kubeconfig(kubeconfig, "http://"+apiServer); err != nil {
		t.Fatal(err)
	}
	seedLibraries(o.Seed)
	t.Cleanup(forgetCommands)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(o)
		w.kubeconfig = kubeconfig
		time.Sleep(time.Until(w.Model.Now()))
		w.next = time.Now().Add(time.Second + w.late())
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			w.live(stop)
		}()
		w.hold()
		defer func() {
			w.leave()
			close(stop)
			<-ended
			w.network.Reset(func(string) bool { return true })
		}()
		script(t, w)
	})
}

func newWorld(o sim.Options) *World {
	m := sim.New(o)
	api := memoryapi.New()
	w := &World{
		Model: m, api: api, kube: kubernetes.New(m, api), members: database.New(m),
		places: map[string]place{}, cut: map[member]bool{}, cluster: topology.Cluster{Namespace: kubernetes.Namespace, Name: kubernetes.Name},
		queue: newQueue(), rng: rand.New(rand.NewPCG(o.Seed, 2)), held: make(chan struct{}, 1),
	}
	w.network = network.New(w.connect)
	api.Announce(func(watch string, send func()) {
		w.queue.announce(watch, func() {
			w.record.add("events of %s", watch)
			send()
		})
	})
	return w
}

// place is a port of a pod.
type place struct {
	member
	port int
}

// connect returns what a new connection meets.
func (w *World) connect(ctx context.Context, address string) (reach network.Reach, at network.Server) {
	reach = network.Silent
	w.queue.turn(ctx, &waiting{key: address, connects: true}, func() { reach, at = w.resolve(address) })
	return reach, at
}

// resolve returns what is at an address: the API server, or a port of a pod.
func (w *World) resolve(address string) (network.Reach, network.Server) {
	if address == apiServer {
		answers := w.kept(w.failing(w.judged(w.denying(later(w.api)))))
		return network.Open, network.Server{Handler: untimed(w.holding(w.queue.handler("API server", address, answers)))}
	}
	at, ok := w.places[address]
	if !ok {
		if at, ok = w.find(address); !ok {
			return network.Silent, network.Server{} // no pod has the address any more
		}
		w.places[address] = at
	}
	if w.cut[at.member] {
		return network.Silent, network.Server{}
	}
	switch w.members.Port(at.kind, at.ordinal, at.port) {
	case database.Open:
		server := fmt.Sprintf("%s-%d:%d", at.kind, at.ordinal, at.port)
		answers := w.kept(w.failing(w.judged(w.members.Handler(at.kind, at.ordinal, at.port))))
		return network.Open, network.Server{Handler: w.queue.handler(server, address, answers), TLS: w.certified(at.member)}
	case database.Refused:
		return network.Refused, network.Server{}
	}
	return network.Silent, network.Server{}
}

// find returns the pod that has an address.
func (w *World) find(address string) (place, bool) {
	host, text, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(text)
	for _, obj := range w.api.List(schema.GroupResource{Resource: "pods"}, kubernetes.Namespace) {
		p := obj.(*corev1.Pod)
		if k, n, ok := w.cluster.Member(p.Name); ok && p.Status.PodIP == host {
			return place{member{k, n}, port}, true
		}
	}
	return place{}, false
}

// watched is how long a watch lasts.
const watched = "420"

// untimed returns a handler to whom all clients ask for watches of the same length. client-go draws a random one.
func untimed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if query := r.URL.Query(); query.Get("timeoutSeconds") != "" {
			query.Set("timeoutSeconds", watched)
			query.Del("timeout")
			r.URL.RawQuery = query.Encode()
		}
		h.ServeHTTP(out, r)
	})
}

// judged returns a handler of a command's requests: what they change is judged by the rules.
func (w *World) judged(h http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.requests = append(w.requests, Request{At: time.Now(), Server: r.Host, What: r.Method + " " + r.URL.RequestURI()})
		if r.Method == http.MethodGet {
			if strings.HasSuffix(r.URL.Path, "/pods") && !watches(r) { // each observation that is live lists the pods
				w.Model.Look()
			}
			h.ServeHTTP(out, r)
			return
		}
		w.Model.Judging(true)
		h.ServeHTTP(out, r)
		w.kube.Written()
		w.Model.Judging(false)
		w.kube.Show()
	})
}

// latency is how long a request takes at least, and how much longer it may take.
const latency = 2 * time.Millisecond

// live answers requests one by one, and lets the model go on by a second in each second.
func (w *World) live(stop <-chan struct{}) {
	for {
		synctest.Wait()
		w.hold()
		for !time.Now().Before(w.next) {
			w.next = w.next.Truncate(time.Second).Add(time.Second + w.late())
			w.Model.Tick()
			w.kube.Show()
			w.reset()
		}
		w.goOn()
		next := w.queue.take(w.rng, w.Faults.Slow, w.Faults.Behind)
		if len(next) > 0 {
			if !next[0].connects {
				w.Sleep(latency + time.Duration(w.rng.Int64N(int64(latency))))
				w.chance = w.rng.Float64()
			}
			serve(next)
			w.stop()
		}
		w.leave()
		if len(next) > 0 {
			continue
		}
		select {
		case <-stop:
			return
		case <-w.queue.arrived:
		case <-time.After(time.Until(w.next)):
		}
	}
}

// late is how long after a full second the model goes on. A timer that a command sets at a full second may end at a
// full second. If the model went on at that moment, Go's scheduler would decide which of the two is first.
func (w *World) late() time.Duration { return time.Duration(1 + w.rng.Int64N(int64(latency))) }

// reset ends the connections to processes that have ended, or that cannot be reached any more.
func (w *World) reset() {
	ended := func(address string) bool {
		if address == apiServer {
			return false
		}
		reach, _ := w.resolve(address)
		return reach != network.Open
	}
	for w.queue.end(ended) {
		synctest.Wait() // before connections are closed without the first bytes of an answer
	}
	w.network.Reset(ended)
}
