package maintenance

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// leases is an API server with leases, by namespace and name, which are renewed whenever they are read, and
// with nothing else. It accepts new ones.
func leases(t *testing.T, held map[string]string) *factory.Factory {
	const group = "/apis/coordination.k8s.io/v1"
	var all []coordinationv1.Lease
	for at, holder := range held {
		namespace, name, _ := strings.Cut(at, "/")
		now, seconds := metav1.NewMicroTime(time.Now()), int32(60)
		all = append(all, coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1", ResourceVersion: "1"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		if r.URL.Path == group+"/leases" {
			answer = coordinationv1.LeaseList{TypeMeta: metav1.TypeMeta{Kind: "LeaseList", APIVersion: "coordination.k8s.io/v1"}, Items: all}
		}
		for _, l := range all {
			if r.Method == http.MethodGet && r.URL.Path == group+"/namespaces/"+l.Namespace+"/leases/"+l.Name {
				renewed := metav1.NewMicroTime(time.Now())
				l.ResourceVersion, l.Spec.RenewTime = renewed.String(), &renewed
				answer = l
			}
		}
		if r.Method != http.MethodGet {
			answer = coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a-kubectl-tidb", UID: "2", ResourceVersion: "2"}}
		}
		if answer == nil {
			missing := apierrors.NewNotFound(schema.GroupResource{Resource: "any"}, r.URL.Path).Status()
			missing.APIVersion, missing.Kind = "v1", "Status"
			w.WriteHeader(http.StatusNotFound)
			answer = missing
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "")
	f.Flags.APIServer = &server.URL
	return f
}

// TestHold: a start changes no cluster that a tidb-operator or another process drives, and its exit code
// says that it may be repeated.
func TestHold(t *testing.T) {
	for name, c := range map[string]struct {
		held map[string]string
		says []string
	}{
		"no other driver": {},
		"a tidb-operator": {map[string]string{"ops/tidb-controller-manager": "tidb-controller-manager-5d8f7-x2x4z"},
			[]string{"tidb-operator tidb-controller-manager-5d8f7-x2x4z", "exclude the cluster by its -selector"}},
		"another process": {map[string]string{"ns/a-kubectl-tidb": "bob"}, []string{"bob", "kubectl tidb wait a --for=converged -n ns"}},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := open(leases(t, c.held), "ns", "a")
			if err != nil {
				t.Fatal(err)
			}
			defer at.close()
			at.(*session).seen = topology.Cluster{Namespace: "ns", Name: "a", Instance: "a"}
			release, err := at.hold(t.Context())
			if len(c.says) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				release()
				return
			}
			if err == nil || exit.Of(err) != exit.Held {
				t.Fatalf("exit code %d, %v", exit.Of(err), err)
			}
			for _, says := range c.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%v does not say %q", err, says)
				}
			}
		})
	}
}
