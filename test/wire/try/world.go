package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
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

// world is the model, and what serves it.
type world struct {
	api     *memoryapi.Server
	network *network.Network
	cluster topology.Cluster
	out     io.Writer
	token   string // which clients have to show
	begun   time.Time
	speed   int // how many seconds of the model a second takes

	mu      sync.Mutex // the model, the bridge and the members are used by one goroutine at a time
	model   *sim.Model
	kube    *kubernetes.Bridge
	members *database.Database
	ahead   time.Duration     // what has passed at once
	broken  map[string]func() // what is broken, by names, and what mends it
	cut     map[string]bool   // pods that cannot be reached from here
	denied  string            // what an admission webhook answers to writes of StatefulSets; "" for none
	away    bool              // the API server reaches no kubelet
}

// newWorld returns a world without a cluster in it.
func newWorld(out io.Writer, token string, speed int) *world {
	m := sim.New(sim.Options{Seed: 1, PD: 3, TiKV: 3, TiDB: 2})
	begun := time.Now()
	m.BeginAt(begun)
	api := memoryapi.New()
	w := &world{
		api: api, out: out, token: token, begun: begun, speed: speed, model: m, kube: kubernetes.New(m, api), members: database.New(m),
		cluster: topology.Cluster{Namespace: kubernetes.Namespace, Name: kubernetes.Name},
		broken:  map[string]func(){}, cut: map[string]bool{},
	}
	w.network = network.New(func(_ context.Context, address string) (network.Reach, network.Server) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.resolve(address)
	})
	api.Forward(func(ctx context.Context, pod *corev1.Pod, port string) (net.Conn, error) {
		return w.network.DialContext(ctx, "tcp", addressOf(pod, port))
	})
	api.Put(schema.GroupResource{Resource: "namespaces"}, namespaceOf(kubernetes.Namespace))
	return w
}

// live lets the model go on with the clock until ctx ends.
func (w *world) live(ctx context.Context) {
	next := time.NewTicker(time.Second / time.Duration(w.speed))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			w.mu.Lock()
			w.goOn(0)
			w.mu.Unlock()
		}
	}
}

// goOn lets the model go on by the time that has passed, and by so much more.
func (w *world) goOn(more time.Duration) {
	w.ahead += more
	end := w.begun.Add(time.Duration(w.speed)*time.Since(w.begun) + w.ahead - time.Second)
	for w.model.Now().Before(end) {
		w.model.Tick()
		w.kube.Show()
	}
	w.network.Reset(func(address string) bool {
		reach, _ := w.resolve(address)
		return reach != network.Open
	})
}

// addressOf returns the address of a port of a pod in the world's network. A pod that comes later has another one.
func addressOf(pod *corev1.Pod, port string) string {
	return net.JoinHostPort(pod.Name+"/"+string(pod.UID), port)
}

// resolve returns what a connection to a port of a pod meets.
func (w *world) resolve(address string) (network.Reach, network.Server) {
	host, text, _ := net.SplitHostPort(address)
	name, uid, _ := strings.Cut(host, "/")
	port, _ := strconv.Atoi(text)
	k, ordinal, ok := w.cluster.Member(name)
	if !ok || uidOf(w.model, k, ordinal) != uid {
		return network.Refused, network.Server{} // the pod is gone
	}
	if w.cut[name] || w.away {
		return network.Silent, network.Server{}
	}
	switch w.members.Port(k, ordinal, port) {
	case database.Open:
		return network.Open, network.Server{Handler: w.alone(w.members.Handler(k, ordinal, port))}
	case database.Refused:
		return network.Refused, network.Server{}
	}
	return network.Silent, network.Server{}
}

func uidOf(m *sim.Model, k topology.Kind, ordinal int) string {
	for _, p := range m.ShownPods(k) {
		if p.Ordinal == ordinal {
			return p.UID
		}
	}
	return ""
}

// leader returns the pod of PD's leader, "" while PD has none.
func (w *world) leader() string {
	for _, m := range w.model.PDMembers() {
		if m.ID == w.model.PDLeader() {
			return m.Name
		}
	}
	return ""
}

// say prints what happens in the world.
func (w *world) say(format string, args ...any) {
	fmt.Fprintf(w.out, "%s %s\n", w.model.Now().Local().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
