package lease

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
)

func operatorRecord(namespace, name, holder string, renewed time.Time) *coordinationv1.Lease {
	l := record(holder, renewed)
	l.Namespace, l.Name, l.UID = namespace, name, types.UID(namespace+name)
	return l
}

func TestOperators(t *testing.T) {
	for _, tt := range []struct {
		name      string
		lease     func(now time.Time) *coordinationv1.Lease
		renews    bool
		forbidden bool
		alive     bool
		wait      time.Duration
	}{
		{name: "none", lease: func(time.Time) *coordinationv1.Lease { return nil }},
		{name: "fresh", alive: true, lease: func(now time.Time) *coordinationv1.Lease {
			return operatorRecord("ops", "tidb-controller-manager", "op-1", now.Add(-time.Second))
		}},
		{name: "fresh, of a Helm release", alive: true, lease: func(now time.Time) *coordinationv1.Lease {
			return operatorRecord("ops", "tidb-controller-manager-prod", "op-1", now)
		}},
		{name: "another operator", lease: func(now time.Time) *coordinationv1.Lease {
			return operatorRecord("ops", "tidb-controller-managers", "op-1", now)
		}},
		{name: "released", lease: func(now time.Time) *coordinationv1.Lease {
			return operatorRecord("ops", "tidb-controller-manager", "", now)
		}},
		{name: "gone for long", lease: func(now time.Time) *coordinationv1.Lease {
			return operatorRecord("ops", "tidb-controller-manager", "op-1", now.Add(-48*time.Hour))
		}},
		{name: "stopped a minute ago", wait: operatorRenews, lease: func(now time.Time) *coordinationv1.Lease {
			return operatorRecord("ops", "tidb-controller-manager", "op-1", now.Add(-time.Minute))
		}},
		{name: "alive with another clock", renews: true, alive: true, wait: operatorRenews, lease: func(now time.Time) *coordinationv1.Lease {
			return operatorRecord("ops", "tidb-controller-manager", "op-1", now.Add(10*time.Minute))
		}},
		{name: "in a usual namespace, may not look elsewhere", alive: true, forbidden: true, lease: func(now time.Time) *coordinationv1.Lease {
			return operatorRecord("tidb-admin", "tidb-controller-manager", "op-1", now)
		}},
		{name: "in the cluster's namespace, may not look elsewhere", alive: true, forbidden: true, lease: func(now time.Time) *coordinationv1.Lease {
			return operatorRecord("db", "tidb-controller-manager", "op-1", now)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := api()
				l := tt.lease(time.Now())
				if l != nil {
					_ = client.Tracker().Add(l)
				}
				if tt.forbidden {
					client.PrependReactor("list", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
						if a.GetNamespace() == metav1.NamespaceAll {
							return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil)
						}
						return false, nil, nil
					})
				}
				if tt.renews {
					go func() {
						time.Sleep(2 * time.Second)
						next := operatorRecord(l.Namespace, l.Name, "op-1", l.Spec.RenewTime.Add(2*time.Second))
						_ = client.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), next, l.Namespace)
					}()
				}
				begun := time.Now()
				found := NewOperators(client).Find(t.Context(), Target{Namespace: "db"})
				o, alive := found.Driving(Target{Namespace: "db"})
				if alive != tt.alive || alive && (o.Namespace != l.Namespace || o.Holder != "op-1") || found.Hidden != tt.forbidden {
					t.Errorf("got %+v", found)
				}
				if took := time.Since(begun); took != tt.wait {
					t.Errorf("took %v, want %v", took, tt.wait)
				}
			})
		})
	}
}
