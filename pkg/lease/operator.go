package lease

import (
	"context"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// operatorLease is the name under which tidb-operator elects its leader; an
// installation may add "-" and the name of its Helm release.
const operatorLease = "tidb-controller-manager"

const (
	// operatorRenews is the longest that a live operator goes between two
	// renewals: with its default settings it gives up after 10 s.
	operatorRenews = 10 * time.Second
	// forgotten: an older record was left behind by an operator that is gone.
	// No two clocks that can talk TLS to each other differ by that much.
	forgotten = time.Hour
)

// usualNamespaces are where its manuals install tidb-operator.
var usualNamespaces = []string{"tidb-admin", "tidb-operator"}

// Target is a cluster that an operator may drive: where its TidbCluster is, and
// the labels that this has.
type Target struct {
	Namespace string
	Labels    map[string]string
}

// TargetOf is a cluster as operators see it.
func TargetOf(c topology.Cluster) Target {
	t := Target{Namespace: c.Namespace}
	if c.Source != nil {
		t.Labels = c.Source.Labels
	}
	return t
}

// Operator is a live tidb-operator.
type Operator struct {
	Namespace, Holder string
	Renewed           time.Time // by its own clock
	Scope             Scope
}

func (o Operator) String() string {
	return "tidb-operator " + o.Holder + " in namespace " + o.Namespace
}

// Finding is what is known of tidb-operators.
type Finding struct {
	// Alive are those that are alive, those in the namespace that was asked for
	// first: they are there for its clusters even if they serve no others.
	Alive []Operator
	// Hidden: leases of other namespaces may not be listed, so that only the
	// namespaces in which operators usually run were searched.
	Hidden bool
}

// Driving is the operator that drives a cluster, if one does.
func (f Finding) Driving(t Target) (Operator, bool) {
	for _, o := range f.Alive {
		if o.Scope.Covers(t) {
			return o, true
		}
	}
	return Operator{}, false
}

// Operators finds live tidb-operators by their leader election. It is not safe
// for concurrent use.
type Operators struct {
	kube kubernetes.Interface
	// still are records that stood still for longer than a live operator's would.
	still map[types.UID]*coordinationv1.Lease
}

// NewOperators makes one that has seen nothing yet.
func NewOperators(kube kubernetes.Interface) *Operators {
	return &Operators{kube: kube, still: map[types.UID]*coordinationv1.Lease{}}
}

// Find finds live tidb-operators and how far they reach.
//
// Whoever may not list leases in all namespaces gets an answer from that of the
// target and the usual ones. It takes up to ten seconds when a record of an
// operator that covers the target neither is fresh nor has been abandoned long
// ago, since then only a renewal can tell, and no time for the same record again.
func (o *Operators) Find(ctx context.Context, t Target) Finding {
	f, doubtful := o.fresh(ctx, t)
	if _, sure := f.Driving(t); sure || len(doubtful) == 0 {
		return f
	}
	select {
	case <-ctx.Done():
		return f
	case <-time.After(operatorRenews):
	}
	now, hidden := operatorLeases(ctx, o.kube, t.Namespace)
	f.Hidden = f.Hidden || hidden
	f.Alive = append(f.Alive, o.renewed(ctx, doubtful, now)...)
	return f
}

// Fresh finds those whose record says so by itself, without waiting for anything.
// One with another clock is not among them.
func (o *Operators) Fresh(ctx context.Context, t Target) Finding {
	f, _ := o.fresh(ctx, t)
	return f
}

// fresh is Fresh, and the records of which only a renewal can tell.
func (o *Operators) fresh(ctx context.Context, t Target) (f Finding, doubtful []coordinationv1.Lease) {
	var found []coordinationv1.Lease
	found, f.Hidden = operatorLeases(ctx, o.kube, t.Namespace)
	for _, l := range found {
		h := holderOf(&l)
		age := time.Since(h.Renewed).Abs()
		if h.Identity == "" || age > forgotten || o.still[l.UID] != nil && same(o.still[l.UID], &l) {
			continue
		}
		it := o.operator(ctx, &l)
		switch {
		case age <= goodFor(&l):
			f.Alive = append(f.Alive, it)
		case it.Scope.Covers(t):
			doubtful = append(doubtful, l)
		}
	}
	return f, doubtful
}

func (o *Operators) operator(ctx context.Context, l *coordinationv1.Lease) Operator {
	h := holderOf(l)
	return Operator{
		Namespace: l.Namespace, Holder: h.Identity, Renewed: h.Renewed,
		Scope: scopeOf(ctx, o.kube, l.Namespace, l.Name, h.Identity),
	}
}

// renewed finds those of some records that have changed, and remembers the others.
func (o *Operators) renewed(ctx context.Context, doubtful, now []coordinationv1.Lease) []Operator {
	var alive []Operator
	for _, l := range now {
		i := slices.IndexFunc(doubtful, func(old coordinationv1.Lease) bool { return old.UID == l.UID })
		switch h := holderOf(&l); {
		case i < 0 || h.Identity == "":
		case !same(&doubtful[i], &l):
			alive = append(alive, o.operator(ctx, &l))
		default:
			o.still[l.UID] = &l
		}
	}
	return alive
}

// operatorLeases lists the operators' leases, those in the preferred namespace
// first. Hidden: those of all namespaces may not be listed.
func operatorLeases(ctx context.Context, kube kubernetes.Interface, preferred string) (items []coordinationv1.Lease, hidden bool) {
	// Every node renews a lease of its own, all in one namespace: in a big
	// cluster they would be nearly all of the answer.
	items, err := leasesIn(ctx, kube, metav1.NamespaceAll, "metadata.namespace!=kube-node-lease")
	if err != nil {
		hidden = true
		searched := slices.Compact(slices.Sorted(slices.Values(append([]string{preferred}, usualNamespaces...))))
		for _, ns := range searched {
			some, _ := leasesIn(ctx, kube, ns, "")
			items = append(items, some...)
		}
	}
	items = slices.DeleteFunc(items, func(l coordinationv1.Lease) bool {
		return l.Name != operatorLease && !strings.HasPrefix(l.Name, operatorLease+"-")
	})
	rank := func(l coordinationv1.Lease) int {
		if l.Namespace == preferred {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(items, func(a, b coordinationv1.Lease) int { return rank(a) - rank(b) })
	return items, hidden
}

func leasesIn(ctx context.Context, kube kubernetes.Interface, namespace, fields string) ([]coordinationv1.Lease, error) {
	l, err := kube.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields})
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}
