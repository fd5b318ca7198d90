package dial

import (
	"context"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Members opens connections to the members of one cluster, and to nothing else.
//
// Addresses come from members: PD reports who leads it, and every member can answer with one. A member that is
// broken, or whose image a tenant has chosen, can report any address. Without this check our requests would go to
// pods of other namespaces, with our rights and past the NetworkPolicies that let us in. The answers of those pods
// would come back in errors.
type Members struct {
	way     Dialer
	cluster topology.Cluster // its name and its namespace
	pd      topology.Cluster // the same of the part with PD, for a part that has none
	whole   topology.Cluster // with the cluster domain
}

// Of returns what connects to the members of a cluster. It is the only way to a connection for other packages.
func Of(d Dialer, c topology.Cluster) *Members {
	m := &Members{way: d, cluster: topology.Cluster{Name: c.Name, Namespace: c.Namespace}, whole: c}
	if c.UsesOtherPD() {
		m.pd = c.PDPart()
	}
	return m
}

// DialContext connects to addr, which is <pod>.<peer service>.<namespace>[.svc[.<cluster domain>]]:<port> of a member.
// For any other address it fails with Foreign or BadAddress before anything is asked.
func (m *Members) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	t, err := parseAddress(addr)
	if err != nil {
		return nil, err
	}
	if !m.has(t.namespace, t.pod) || !m.isHere(addr, t.pod) {
		return nil, t.fail(Foreign, fmt.Errorf("not a member of TidbCluster %s/%s", m.cluster.Namespace, m.cluster.Name))
	}
	return m.way.connect(ctx, network, addr)
}

// isHere reports whether an address is one of this Kubernetes cluster. A pod of another Kubernetes cluster can have the
// same name and namespace, and the member here would answer in its place.
func (m *Members) isHere(addr, pod string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if !m.whole.SpansK8s() {
		domain := topology.DomainOf(host)
		return m.whole.Domain == "" || domain == "" || domain == m.whole.Domain
	}
	k, _, is := m.whole.Member(pod)
	_, here := m.whole.HostOrdinal(k, host)
	return is && here
}

// Tell implements Told. It tells only members.
func (m *Members) Tell(pods []*corev1.Pod) (over func()) {
	to, ok := m.way.(Told)
	if !ok {
		return func() {}
	}
	var own []*corev1.Pod
	for _, p := range pods {
		if m.has(p.Namespace, p.Name) {
			own = append(own, p)
		}
	}
	return to.Tell(own)
}

// has reports whether a pod is one of a member, or one of the PD that a part joins. The name is enough: only
// StatefulSets of the cluster make pods with it.
func (m *Members) has(namespace, pod string) bool {
	_, _, ok := m.cluster.Member(pod)
	if ok && namespace == m.cluster.Namespace {
		return true
	}
	_, ok = m.pd.Ordinal(topology.PD, pod)
	return ok && m.pd.Name != "" && namespace == m.pd.Namespace
}

// Any returns a Dialer that connects as d does, for a fake of a test.
func Any(d interface {
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	Close() error
}) Dialer {
	return fake{d}
}

type fake struct {
	to interface {
		DialContext(ctx context.Context, network, addr string) (net.Conn, error)
		Close() error
	}
}

func (f fake) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	return f.to.DialContext(ctx, network, addr)
}

func (f fake) Close() error { return f.to.Close() }

// Tell implements Told where the fake does.
func (f fake) Tell(pods []*corev1.Pod) (over func()) {
	if told, ok := f.to.(Told); ok {
		return told.Tell(pods)
	}
	return func() {}
}
