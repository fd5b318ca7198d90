package lease

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
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
				found := find(t, client, Target{Namespace: "db"})
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

func find(t *testing.T, client kubernetes.Interface, target Target) LiveOperators {
	t.Helper()
	found, err := NewOperators(client).Find(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// failing makes lists of leases fail in some namespaces; "" is the list of all.
func failing(client *fake.Clientset, failures map[string]error) {
	client.PrependReactor("list", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		err := failures[a.GetNamespace()]
		return err != nil, nil, err
	})
}

// A search continues only without lists that are forbidden. After any other failure it is unknown
// whether there is an operator.
func TestUnlistedLeases(t *testing.T) {
	leases := schema.GroupResource{Resource: "leases"}
	no, busy := apierrors.NewForbidden(leases, "", nil), apierrors.NewTooManyRequests("later", 1)
	for name, tt := range map[string]struct {
		failures map[string]error
		fails    bool
		unlisted []string
	}{
		"all allowed":                     {},
		"busy":                            {failures: map[string]error{"": busy}, fails: true},
		"timeout":                         {failures: map[string]error{"": apierrors.NewServerTimeout(leases, "list", 1)}, fails: true},
		"restarting":                      {failures: map[string]error{"": apierrors.NewServiceUnavailable("restarts")}, fails: true},
		"forbidden, then busy":            {failures: map[string]error{"": no, "tidb-admin": busy}, fails: true},
		"forbidden for all at once":       {failures: map[string]error{"": no}},
		"forbidden for one as well":       {failures: map[string]error{"": no, "tidb-admin": no}, unlisted: []string{"tidb-admin"}},
		"forbidden for the cluster's too": {failures: map[string]error{"": no, "db": no, "tidb-admin": no}, unlisted: []string{"db", "tidb-admin"}},
	} {
		t.Run(name, func(t *testing.T) {
			client, target := api(), Target{Namespace: "db"}
			failing(client, tt.failures)
			found, err := NewOperators(client).Find(t.Context(), target)
			if (err != nil) != tt.fails {
				t.Fatalf("got %v", err)
			}
			notices := found.Notices(target)
			if tt.fails || len(tt.failures) == 0 {
				if !tt.fails && len(notices) > 0 {
					t.Errorf("notices %q", notices)
				}
				return
			}
			if len(notices) != 1 {
				t.Fatalf("notices %q", notices)
			}
			for _, ns := range []string{"db", "tidb-admin", "tidb-operator"} {
				text := strings.Replace(notices[0].Text, "a tidb-operator", "", 1)
				words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;:", r) })
				if slices.Contains(words, ns) != slices.Contains(tt.unlisted, ns) {
					t.Errorf("namespace %s: %q", ns, notices[0])
				}
			}
		})
	}
}

// The wait for a renewal ends without an answer when the leases cannot be listed then.
func TestUnlistedRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api(operatorRecord("db", "tidb-controller-manager", "op-1", time.Now().Add(time.Minute)))
		lists := 0
		client.PrependReactor("list", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			lists++
			return lists > 1, nil, apierrors.NewServiceUnavailable("restarts")
		})
		if found, err := NewOperators(client).Find(t.Context(), Target{Namespace: "db"}); err == nil {
			t.Errorf("got %+v", found)
		}
	})
}

// A list that is forbidden is not asked for again for a while.
func TestForbiddenIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		no := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil)
		failing(client, map[string]error{"": no, "tidb-admin": no, "tidb-operator": no})
		o := NewOperators(client)
		for i, want := range []int{4, 1, 4, 1} {
			client.ClearActions()
			found, err := o.Find(t.Context(), Target{Namespace: "db"})
			if n := len(client.Actions()); err != nil || n != want || !found.Hidden || len(found.Unlisted) != 2 {
				t.Errorf("search %d: %d requests, want %d; %+v, %v", i, n, want, found, err)
			}
			if i == 1 {
				time.Sleep(forbiddenFor)
			}
		}
	})
}

// No operator is alive, or may be alive.
func TestNone(t *testing.T) {
	for name, tt := range map[string]struct {
		f    LiveOperators
		none bool
	}{"nothing": {LiveOperators{}, true}, "alive": {LiveOperators{Alive: []Operator{{}}}, false}, "doubtful": {LiveOperators{doubtful: []Operator{{}}}, false},
		"both": {LiveOperators{Alive: []Operator{{}}, doubtful: []Operator{{}}}, false},
	} {
		if tt.f.None() != tt.none {
			t.Errorf("%s: %t", name, !tt.none)
		}
	}
}

// The list of all namespaces leaves out the leases of nodes: each node renews one.
func TestLeasesOfNodes(t *testing.T) {
	client, asked := api(), []string{}
	client.PrependReactor("list", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		asked = append(asked, a.(clienttesting.ListAction).GetListRestrictions().Fields.String())
		return false, nil, nil
	})
	if find(t, client, Target{Namespace: "db"}); !slices.Equal(asked, []string{"metadata.namespace!=kube-node-lease"}) {
		t.Errorf("asked for %q", asked)
	}
}

// A finding for one cluster is also valid for another one, unless the search did not wait for an
// operator that covers only the other one, or did not read the other namespace.
func TestAnswers(t *testing.T) {
	a, b, ops := Target{Namespace: "a"}, Target{Namespace: "b"}, Target{Namespace: "ops"}
	client := api(operatorRecord("ops", "tidb-controller-manager", operatorPod, time.Now().Add(time.Minute)),
		deployed("tidb-controller-manager", "-cluster-scoped=false"))
	if found := find(t, client, a); !found.Answers(a) || !found.Answers(b) || found.Answers(ops) {
		t.Errorf("answers %t, %t, %t", found.Answers(a), found.Answers(b), found.Answers(ops))
	}
	failing(client, map[string]error{"": apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil)})
	if found := find(t, client, a); !found.Answers(a) || found.Answers(b) {
		t.Errorf("answers %t, %t", found.Answers(a), found.Answers(b))
	}
}
