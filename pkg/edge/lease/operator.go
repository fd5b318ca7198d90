package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// operatorLease is the name under which tidb-operator elects its leader. An installation may add "-" and the name of
// its Helm release.
const operatorLease = "tidb-controller-manager"

const (
	// operatorRenews is the longest time between two renewals of a live operator. With its default settings an
	// operator stops after 10 s without a renewal.
	operatorRenews = 10 * time.Second
	// abandonedAfter is the age from which a record belongs to an operator that does not run any
	// more. The clocks of two hosts that can talk TLS to each other do not differ by that much.
	abandonedAfter = time.Hour
)

// usualNamespaces are the namespaces in which its manuals install tidb-operator.
var usualNamespaces = []string{"tidb-admin", "tidb-operator"}

// Target is a cluster that an operator may drive: the namespace and the labels of its TidbCluster.
type Target struct {
	Namespace string
	Labels    map[string]string
}

// TargetOf returns a cluster as a target.
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
	Renewed           time.Time // by the operator's clock
	Scope             Scope
}

func (o Operator) String() string {
	return "tidb-operator " + o.Holder + " in namespace " + o.Namespace
}

// LiveOperators is the result of a search for tidb-operators.
type LiveOperators struct {
	// Alive are the live operators, first the operators in the namespace of the target. Such an operator drives the
	// clusters of its namespace even if it drives no other clusters.
	Alive []Operator
	// Hidden is true if listing leases in all namespaces is forbidden, so that only the namespace
	// of the target and the usual ones were read.
	Hidden bool
	// Unlisted are those of these namespaces in which listing leases is forbidden too.
	Unlisted []string

	namespace string     // of the target
	doubtful  []Operator // may be alive: only a renewal could show it, and none was waited for
}

// Driving returns the operator that drives a cluster, if there is one.
func (f LiveOperators) Driving(t Target) (Operator, bool) {
	for _, o := range f.Alive {
		if o.Scope.Covers(t) {
			return o, true
		}
	}
	return Operator{}, false
}

// None reports whether no operator is alive, or may be alive, so that no cluster has one.
func (f LiveOperators) None() bool { return len(f.Alive)+len(f.doubtful) == 0 }

// Answers reports whether the finding for one cluster is also valid for another. Then no new search is needed.
func (f LiveOperators) Answers(t Target) bool {
	if _, drives := f.Driving(t); drives {
		return true
	}
	return (!f.Hidden || f.namespace == t.Namespace) && !covered(f.doubtful, t)
}

// Notice is what the user should know about the answer.
type Notice struct {
	Reason event.NoticeReason
	Text   string
}

// Notices returns what limits the answer for a cluster, as notices for the user.
func (f LiveOperators) Notices(t Target) []Notice {
	var out []Notice
	if f.Hidden {
		text := "leases of all namespaces may not be listed: a tidb-operator is not noticed in namespaces other than " +
			"the cluster's and those where it usually runs"
		if len(f.Unlisted) > 0 {
			text += ", nor in " + strings.Join(f.Unlisted, ", ")
		}
		out = append(out, Notice{event.OperatorsNotListed, text + "; to change this, allow to list leases in all namespaces"})
	}
	if op, drives := f.Driving(t); drives && op.Scope.Unread {
		out = append(out, Notice{event.OperatorScopeUnknown, "which clusters " + op.String() + " drives cannot be read from its " +
			"Deployment or its bindings, so that it is taken to drive all; if it does not drive this one, give --take-over"})
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
	// unchanged are records that were not renewed for longer than a live operator needs.
	unchanged map[types.UID]*coordinationv1.Lease
	// forbidden are the namespaces in which listing leases is forbidden, and when that was found out: a run
	// of hours asks every half minute.
	forbidden map[string]forbidden
}

type forbidden struct {
	err error
	at  time.Time
}

// forbiddenFor is how long it is assumed that a missing permission is not given.
const forbiddenFor = 10 * time.Minute

// NewOperators returns an Operators that has seen no record yet.
func NewOperators(kube kubernetes.Interface) *Operators {
	return &Operators{kube: kube, unchanged: map[types.UID]*coordinationv1.Lease{}, forbidden: map[string]forbidden{}}
}

// Find finds live tidb-operators and the clusters that they drive.
//
// Where listing leases in all namespaces is forbidden, it reads the namespace of the target and the usual ones. It
// takes up to ten seconds when the record of an operator that covers the target is neither fresh nor abandoned long
// ago. Only a renewal can then show whether the operator is alive. The same record takes no time again.
//
// It fails when it is unknown which leases exist: that no operator was found then does not mean
// that there is none.
func (o *Operators) Find(ctx context.Context, t Target) (LiveOperators, error) {
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

// Fresh finds the operators that have renewed recently, without waiting for a renewal. It does not
// find one whose clock differs.
func (o *Operators) Fresh(ctx context.Context, t Target) (LiveOperators, error) {
	f, _, err := o.fresh(ctx, t)
	return f, err
}

// fresh also returns the records of which only a renewal can show whether their operator is alive.
func (o *Operators) fresh(ctx context.Context, t Target) (f LiveOperators, doubtful []coordinationv1.Lease, err error) {
	found, err := o.list(ctx, t, &f)
	if err != nil {
		return f, nil, err
	}
	for _, l := range found {
		h := holderOf(&l)
		age := time.Since(h.Renewed).Abs()
		if h.Identity == "" || age > abandonedAfter || o.unchanged[l.UID] != nil && sameRecord(o.unchanged[l.UID], &l) {
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

// renewed returns the operators whose records have changed, and remembers the other records.
func (o *Operators) renewed(ctx context.Context, doubtful, now []coordinationv1.Lease) []Operator {
	var alive []Operator
	for _, l := range now {
		i := slices.IndexFunc(doubtful, func(old coordinationv1.Lease) bool { return old.UID == l.UID })
		switch h := holderOf(&l); {
		case i < 0 || h.Identity == "":
		case !sameRecord(&doubtful[i], &l):
			alive = append(alive, o.operator(ctx, &l))
		default:
			o.unchanged[l.UID] = &l
		}
	}
	return alive
}

// list lists the operators' leases, the leases in the namespace of the target first. It notes which namespaces may
// not be listed. It continues only where the API server forbids the list: after any other failure it is unknown
// which leases exist.
func (o *Operators) list(ctx context.Context, t Target, f *LiveOperators) ([]coordinationv1.Lease, error) {
	f.namespace, f.Hidden, f.Unlisted = t.Namespace, false, nil
	// Every node renews a lease of its own, all in one namespace. In a big cluster the leases of nodes would be most
	// of the answer.
	items, err := o.leasesIn(ctx, metav1.NamespaceAll, "metadata.namespace!=kube-node-lease")
	if denial.Missing(err) {
		f.Hidden = true
		items, f.Unlisted, err = o.usualLeases(ctx, t.Namespace)
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

// usualLeases returns the leases of a namespace and of the usual namespaces, as far as they may be
// listed.
func (o *Operators) usualLeases(ctx context.Context, namespace string) (items []coordinationv1.Lease, unlisted []string, err error) {
	searched := slices.Compact(slices.Sorted(slices.Values(append([]string{namespace}, usualNamespaces...))))
	for _, ns := range searched {
		some, err := o.leasesIn(ctx, ns, "")
		switch {
		case denial.Missing(err):
			unlisted = append(unlisted, ns)
		case err != nil:
			return nil, nil, err
		}
		items = append(items, some...)
	}
	return items, unlisted, nil
}

func (o *Operators) leasesIn(ctx context.Context, namespace, fields string) ([]coordinationv1.Lease, error) {
	if f, known := o.forbidden[namespace]; known && time.Since(f.at) < forbiddenFor {
		return nil, f.err
	}
	l, err := o.kube.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields})
	if denial.Missing(err) {
		o.forbidden[namespace] = forbidden{err, time.Now()}
	}
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}
