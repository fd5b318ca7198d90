package kubernetes

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// The keys of the ConfigMap that a PD pod without data reads, as the start script of PD has them.
const (
	keyInitial   = "initial-cluster"
	keyClusterID = "cluster-id"
	keyJoin      = "join"
	keyAwaited   = "not-started"
)

// writtenAdvice tells the model what a PD pod without data reads.
func (b *Bridge) writtenAdvice() {
	m, there := get[*corev1.ConfigMap](b, configMaps, b.cluster.BootstrapMap())
	version := ""
	if there {
		version = string(m.UID) + "/" + m.ResourceVersion
	}
	if !b.changed("advice", version) {
		return
	}
	if !there {
		b.model.DeleteAdvice()
		return
	}
	b.model.WriteAdvice(b.adviceOf(m.Data))
}

func (b *Bridge) adviceOf(data map[string]string) sim.WrittenAdvice {
	awaited, judged := data[keyAwaited]
	out := sim.WrittenAdvice{
		Founders: len(entries(data[keyInitial])), Cluster: data[keyClusterID] != "", Join: data[keyJoin] != "",
		Judged: judged || data[keyJoin] != "",
	}
	for _, name := range entries(awaited) {
		if i, ok := b.cluster.Ordinal(topology.PD, name); ok {
			out.Late = append(out.Late, i)
		}
	}
	return out
}

// entries returns the entries of a list with commas.
func entries(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
