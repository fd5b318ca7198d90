package lease

import (
	"context"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
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

// Alive finds a live tidb-operator. Of several it prefers one in the given
// namespaces, the cluster's: it is there for this cluster even if it serves no
// other.
//
// Whoever may not list leases in all namespaces gets an answer from those given
// and the usual ones; where nothing may be read, no operator is found. It takes
// up to ten seconds when a record neither is fresh nor has been abandoned long
// ago, since then only a renewal can tell, and no time for the same record again.
func (o *Operators) Alive(ctx context.Context, namespaces ...string) (namespace, holder string, alive bool) {
	var doubtful []coordinationv1.Lease
	for _, l := range operatorLeases(ctx, o.kube, namespaces) {
		h := holderOf(&l)
		switch age := time.Since(h.Renewed).Abs(); {
		case h.Identity == "" || age > forgotten:
		case age <= goodFor(&l):
			return l.Namespace, h.Identity, true
		case o.still[l.UID] != nil && same(o.still[l.UID], &l):
		default:
			doubtful = append(doubtful, l)
		}
	}
	if len(doubtful) == 0 {
		return "", "", false
	}
	select {
	case <-ctx.Done():
		return "", "", false
	case <-time.After(operatorRenews):
	}
	return o.renewed(doubtful, operatorLeases(ctx, o.kube, namespaces))
}

// renewed finds one of some records that has changed, and remembers the others.
func (o *Operators) renewed(doubtful, now []coordinationv1.Lease) (namespace, holder string, alive bool) {
	for _, l := range now {
		i := slices.IndexFunc(doubtful, func(old coordinationv1.Lease) bool { return old.UID == l.UID })
		switch h := holderOf(&l); {
		case i < 0 || h.Identity == "":
		case !same(&doubtful[i], &l):
			return l.Namespace, h.Identity, true
		default:
			o.still[l.UID] = &l
		}
	}
	return "", "", false
}

// operatorLeases lists the operators' leases, those in the preferred namespaces
// first.
func operatorLeases(ctx context.Context, kube kubernetes.Interface, preferred []string) []coordinationv1.Lease {
	// Every node renews a lease of its own, all in one namespace: in a big
	// cluster they would be nearly all of the answer.
	items, err := leasesIn(ctx, kube, metav1.NamespaceAll, "metadata.namespace!=kube-node-lease")
	if apierrors.IsForbidden(err) {
		searched := slices.Compact(slices.Sorted(slices.Values(slices.Concat(preferred, usualNamespaces))))
		for _, ns := range searched {
			some, _ := leasesIn(ctx, kube, ns, "")
			items = append(items, some...)
		}
	}
	items = slices.DeleteFunc(items, func(l coordinationv1.Lease) bool {
		return l.Name != operatorLease && !strings.HasPrefix(l.Name, operatorLease+"-")
	})
	rank := func(l coordinationv1.Lease) int {
		if slices.Contains(preferred, l.Namespace) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(items, func(a, b coordinationv1.Lease) int { return rank(a) - rank(b) })
	return items
}

func leasesIn(ctx context.Context, kube kubernetes.Interface, namespace, fields string) ([]coordinationv1.Lease, error) {
	l, err := kube.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields})
	if err != nil {
		return nil, err
	}
	return l.Items, nil
}
