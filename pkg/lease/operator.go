package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// Hidden: leases of all namespaces may not be listed, so that only that of the
	// target and those in which operators usually run were asked for.
	Hidden bool
	// Unlisted are those among these namespaces whose leases may not be listed either.
	Unlisted []string

	namespace string     // of the target
	doubtful  []Operator // may be alive: only a renewal could tell, and was not waited for
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

// Answers reports whether what was found for one cluster is the answer for another
// one as well, so that nothing need be asked again for it.
func (f Finding) Answers(t Target) bool {
	if _, drives := f.Driving(t); drives {
		return true
	}
	return (!f.Hidden || f.namespace == t.Namespace) && !covered(f.doubtful, t)
}

// Notices are what the user is to know of how sure the answer for a cluster is.
func (f Finding) Notices(t Target) []string {
	var out []string
	if f.Hidden {
		text := "leases of all namespaces may not be listed: a tidb-operator is not noticed in namespaces other than " +
			"the cluster's and those where it usually runs"
		if len(f.Unlisted) > 0 {
			text += ", nor in " + strings.Join(f.Unlisted, ", ")
		}
		out = append(out, text+"; to change this, allow to list leases in all namespaces")
	}
	if op, drives := f.Driving(t); drives && op.Scope.Unread {
		out = append(out, "which clusters "+op.String()+" drives cannot be read from its Deployment or its bindings, "+
			"so that it is taken to drive all; if it does not drive this one, give --take-over")
	}
	return out
}

// covered reports whether a cluster is in the scope of one of some operators.
func covered(by []Operator, t Target) bool {
	return slices.ContainsFunc(by, func(o Operator) bool { return o.Scope.Covers(t) })
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
//
// It fails when it is unknown which leases there are: that no operator was found
// then does not mean that there is none.
func (o *Operators) Find(ctx context.Context, t Target) (Finding, error) {
	f, doubtful, err := o.fresh(ctx, t)
	if err != nil || f.Answers(t) {
		return f, err
	}
	select {
	case <-ctx.Done():
		return f, context.Cause(ctx)
	case <-time.After(operatorRenews):
	}
	now, err := o.list(ctx, t, &f)
	if err != nil {
		return f, err
	}
	f.Alive = append(f.Alive, o.renewed(ctx, doubtful, now)...)
	f.doubtful = nil
	return f, nil
}

// Fresh finds those whose record says so by itself, without waiting for anything.
// One with another clock is not among them.
func (o *Operators) Fresh(ctx context.Context, t Target) (Finding, error) {
	f, _, err := o.fresh(ctx, t)
	return f, err
}

// fresh is Fresh, and the records of which only a renewal can tell.
func (o *Operators) fresh(ctx context.Context, t Target) (f Finding, doubtful []coordinationv1.Lease, err error) {
	found, err := o.list(ctx, t, &f)
	if err != nil {
		return f, nil, err
	}
	for _, l := range found {
		h := holderOf(&l)
		age := time.Since(h.Renewed).Abs()
		if h.Identity == "" || age > forgotten || o.still[l.UID] != nil && same(o.still[l.UID], &l) {
			continue
		}
		it := o.operator(ctx, &l)
		if age <= goodFor(&l) {
			f.Alive = append(f.Alive, it)
			continue
		}
		doubtful, f.doubtful = append(doubtful, l), append(f.doubtful, it)
	}
	return f, doubtful, nil
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

// list lists the operators' leases, those in the namespace of the target first, and
// notes what may not be listed. Only that the API server forbids it is a reason to do
// with less: any other failure tells nothing of the leases that there are.
func (o *Operators) list(ctx context.Context, t Target, f *Finding) ([]coordinationv1.Lease, error) {
	f.namespace, f.Hidden, f.Unlisted = t.Namespace, false, nil
	// Every node renews a lease of its own, all in one namespace: in a big
	// cluster they would be nearly all of the answer.
	items, err := leasesIn(ctx, o.kube, metav1.NamespaceAll, "metadata.namespace!=kube-node-lease")
	if apierrors.IsForbidden(err) {
		f.Hidden = true
		items, f.Unlisted, err = usualLeases(ctx, o.kube, t.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("list the leases of tidb-operators: %w", err)
	}
	items = slices.DeleteFunc(items, func(l coordinationv1.Lease) bool {
		return l.Name != operatorLease && !strings.HasPrefix(l.Name, operatorLease+"-")
	})
	rank := func(l coordinationv1.Lease) int {
		if l.Namespace == t.Namespace {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(items, func(a, b coordinationv1.Lease) int { return rank(a) - rank(b) })
	return items, nil
}

// usualLeases are the leases of a namespace and of those in which operators usually
// run, as far as they may be listed.
func usualLeases(ctx context.Context, kube kubernetes.Interface, namespace string) (items []coordinationv1.Lease, unlisted []string, err error) {
	searched := slices.Compact(slices.Sorted(slices.Values(append([]string{namespace}, usualNamespaces...))))
	for _, ns := range searched {
		some, err := leasesIn(ctx, kube, ns, "")
		switch {
		case apierrors.IsForbidden(err):
			unlisted = append(unlisted, ns)
		case err != nil:
			return nil, nil, err
		}
		items = append(items, some...)
	}
	return items, unlisted, nil
}

func leasesIn(ctx context.Context, kube kubernetes.Interface, namespace, fields string) ([]coordinationv1.Lease, error) {
	l, err := kube.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields})
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}
