package lease

import (
	"errors"
	"strconv"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var cluster = topology.Cluster{Namespace: "db", Name: "basic", Instance: "basic", UID: "tc-uid"}

// api is a fake API server that checks versions, as the fake clientset alone
// does not.
func api(objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	versions := 1
	client.PrependReactor("create", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		l := a.(clienttesting.CreateAction).GetObject().(*coordinationv1.Lease)
		versions++
		l.ResourceVersion, l.UID = strconv.Itoa(versions), "lease-uid"
		return false, nil, nil
	})
	client.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		next := a.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
		live, err := client.Tracker().Get(a.GetResource(), next.Namespace, next.Name)
		if err != nil {
			return true, nil, err
		}
		if live.(*coordinationv1.Lease).ResourceVersion != next.ResourceVersion {
			return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), next.Name, nil)
		}
		versions++
		next = next.DeepCopy()
		next.ResourceVersion = strconv.Itoa(versions)
		// The tracker's own update works out who manages which field, which would take nearly all
		// of the tests' time.
		tracker := client.Tracker()
		err = errors.Join(tracker.Delete(a.GetResource(), next.Namespace, next.Name), tracker.Add(next))
		return true, next.DeepCopy(), err
	})
	return client
}

// record returns the Lease of the cluster with a holder.
func record(holder string, renewed time.Time) *coordinationv1.Lease {
	at, seconds := metav1.NewMicroTime(renewed), int32(15)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: cluster.LeaseName(), UID: "lease-uid", ResourceVersion: "1"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &at, RenewTime: &at,
		},
	}
}

func get(t *testing.T, client *fake.Clientset) *coordinationv1.Lease {
	t.Helper()
	l, err := client.CoordinationV1().Leases("db").Get(t.Context(), cluster.LeaseName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// someone returns an identity on another machine.
func someone(name string) Identity {
	return Identity{User: name, Host: name + "-laptop", PID: 42, Start: "1000", Boot: name + "-boot"}
}
