package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// elected returns the leader election record of a tidb-operator in a namespace, with its own clock.
func elected(namespace string, renewed time.Time) *coordinationv1.Lease {
	at, seconds, who := metav1.NewMicroTime(renewed), int32(15), "tidb-controller-manager-5d8f7-x2x4z"
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tidb-controller-manager", UID: "op"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &who, LeaseDurationSeconds: &seconds, AcquireTime: &at, RenewTime: &at},
	}
}

// The answer for one cluster is not taken for another one that an operator with another
// clock drives.
func TestOperatorOfAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ahead := 5 * time.Minute
		client := fake.NewClientset(elected("b", time.Now().Add(ahead)), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "tidb-controller-manager"},
			Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Args: []string{"-cluster-scoped=false"}}},
			}}},
		})
		go func() { // the operator renews its record
			time.Sleep(2 * time.Second)
			_ = client.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), elected("b", time.Now().Add(ahead)), "b")
		}()
		o := newOperator(client, time.Now)
		for _, tc := range []struct {
			namespace string
			drives    bool
		}{{"a", false}, {"b", true}, {"c", false}, {"b", true}} {
			by, _, err := o.driving(t.Context(), lease.Target{Namespace: tc.namespace})
			if err != nil || (by != "") != tc.drives {
				t.Errorf("namespace %s: got %q, %v", tc.namespace, by, err)
			}
		}
	})
}

// One search serves all clusters to which its answer applies, as long as it is remembered.
func TestOneSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(elected("ops", time.Now()))
		o := newOperator(client, time.Now)
		lists := func() (n int) {
			for _, a := range client.Actions() {
				if a.Matches("list", "leases") {
					n++
				}
			}
			return n
		}
		ask := func(namespaces ...string) (notices []lease.Notice) {
			for _, ns := range namespaces {
				by, more, err := o.driving(t.Context(), lease.Target{Namespace: ns})
				if err != nil || by == "" {
					t.Errorf("namespace %s: got %q, %v", ns, by, err)
				}
				notices = append(notices, more...)
			}
			return notices
		}
		notices := ask("a", "b", "a")
		if lists() != 1 {
			t.Errorf("%d lists", lists())
		}
		time.Sleep(remembered + time.Millisecond)
		_ = client.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), elected("ops", time.Now()), "ops")
		notices = append(notices, ask("b")...)
		if lists() != 2 {
			t.Errorf("%d lists", lists())
		}
		// The scope of the operator cannot be read here.
		if len(notices) != 1 || !strings.Contains(notices[0].Text, "cannot be read from its Deployment") {
			t.Errorf("got notices %q", notices)
		}
	})
}

// A search that fails gives no answer, and is not remembered.
func TestUnknownOperator(t *testing.T) {
	client, fails := fake.NewClientset(), true
	client.PrependReactor("list", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return fails, nil, apierrors.NewTooManyRequests("later", 1)
	})
	o, target := newOperator(client, time.Now), lease.Target{Namespace: "a"}
	if _, _, err := o.driving(t.Context(), target); err == nil {
		t.Error("got an answer, though the leases cannot be listed")
	}
	fails = false
	if by, _, err := o.driving(t.Context(), target); err != nil || by != "" {
		t.Errorf("got %q, %v", by, err)
	}
}

// A daemon takes no lease while it is unknown whether an operator drives the cluster.
func TestUnknownOperatorIsNotDrivenBeside(t *testing.T) {
	tenant := &Loop{
		Now:      time.Now,
		Operator: func(context.Context) (string, error) { return "", errBroken },
	}
	if _, err := tenant.Own(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}
