package check

import (
	"context"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// basic returns a valid TidbCluster.
func basic(change func(*v1alpha1.TidbCluster)) *v1alpha1.TidbCluster {
	tc := cluster("v8.1.0")
	tc.Namespace, tc.Name = "db", "basic"
	storage := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}
	tc.Spec.PD.ResourceRequirements, tc.Spec.TiKV.ResourceRequirements = storage, storage
	tc.Spec.PD.Config, tc.Spec.TiKV.Config, tc.Spec.TiDB.Config = v1alpha1.NewPDConfig(), v1alpha1.NewTiKVConfig(), v1alpha1.NewTiDBConfig()
	change(tc)
	return tc
}

func TestAdmit(t *testing.T) {
	same := func(*v1alpha1.TidbCluster) {}
	for _, c := range []struct {
		name string
		r    Request
		code exit.Code
		says string
	}{
		{"good", Request{Change: intent.Change{Now: basic(same), Want: basic(same)}}, exit.OK, ""},
		{"new", Request{Change: intent.Change{Want: basic(same)}}, exit.OK, ""},
		{"the verb's refusal", Request{Refusal: exit.Refusef("no such part")}, exit.Refused, "no such part"},
		{"invalid", Request{Change: intent.Change{Want: basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.Replicas = 0 })}}, exit.Refused, "spec.pd.replicas"},
		{"tidb-S16, pd-A2: all that is wrong at once", Request{
			Change: intent.Change{Now: basic(same), Want: basic(func(tc *v1alpha1.TidbCluster) {
				tc.Spec.TiKV, tc.Spec.PD.Replicas, tc.Spec.RecoveryMode = nil, 0, true
			})},
		}, exit.Refused, "there are 3 reasons:\n  spec.pd.replicas: Invalid value: 0: all other components need PD\n  spec.recoveryMode: Forbidden: not supported yet: restoring a cluster from volume snapshots\n  spec.tikv: Forbidden: cannot be taken out"},
		{"paused", Request{Change: intent.Change{Want: basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.Paused = true })}}, exit.Paused, "kubectl tidb resume basic "},
		{"pd-A4: deleting", Request{Change: intent.Change{Want: basic(func(tc *v1alpha1.TidbCluster) { tc.DeletionTimestamp = &metav1.Time{} })}}, exit.Refused, "being deleted"},
		{"paused, and to be written nevertheless", Request{Change: intent.Change{Want: basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.Paused = true })}, Keep: true}, exit.OK, ""},
		{"upgrade", Request{Change: intent.Change{Now: basic(same), Want: basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "v8.1.1" })}}, exit.OK, ""},
		{"from a version that is no release", Request{Change: intent.Change{Now: basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "nightly" }), Want: basic(same)}}, exit.OK, ""},
		{"another component", Request{Change: intent.Change{Now: basic(func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB = nil }), Want: basic(same)}}, exit.OK, ""},
	} {
		wantRefusal(t, c.name, propose(c.r).checkRequest(), c.code, c.says)
	}
}

// TestUncertified: a request is refused where a certificate is good without the request, and does not name the members
// that the request adds. What is wrong without the request is left to the run.
func TestUncertified(t *testing.T) {
	const secret = "basic-tikv-cluster-secret"
	now := basic(func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TLSCluster, tc.Spec.TiKV.Replicas = &v1alpha1.TLSCluster{Enabled: true}, 2
	})
	w := desired.State{Groups: []desired.Group{{
		Group: topology.Group{Kind: topology.TiKV, Replicas: 3, Start: 4},
		Lacks: []desired.Lack{{Need: desired.ValidCertificate, Object: secret, Observed: "it is not for basic-tikv-6"}},
	}}}
	names := func(ordinals ...int) certificate.Secret {
		leaf := &x509.Certificate{NotAfter: plantest.Now.Add(time.Hour)}
		for _, n := range ordinals {
			leaf.DNSNames = append(leaf.DNSNames, topology.New(now).PodHost(topology.TiKV, n))
		}
		return certificate.Secret{Name: secret, Leaf: leaf}
	}
	for _, c := range []struct {
		what    string
		read    map[string]certificate.Secret
		refused bool
	}{
		{"good without the request", map[string]certificate.Secret{secret: names(4, 5)}, true},
		{"wrong without the request", map[string]certificate.Secret{secret: names(4)}, false},
		{"not read", nil, false},
	} {
		snap := state.Snapshot{At: plantest.Now, Certificates: c.read}
		if got := propose(Request{Change: intent.Change{Now: now, Want: now}}).uncertified(w, snap); len(got) > 0 != c.refused {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

func TestAllow(t *testing.T) {
	write := func(context.Context, intent.Write) error { return nil }
	born := basic(func(tc *v1alpha1.TidbCluster) { tc.Status.ClusterID = "7" })
	unborn := basic(func(*v1alpha1.TidbCluster) {})
	asleep := basic(func(tc *v1alpha1.TidbCluster) {
		tc.Status.ClusterID = "7"
		tc.Spec.SuspendAction = &v1alpha1.SuspendAction{SuspendStatefulSet: true}
	})
	suspended := plantest.New(3, 3, 2).PDUnknown()
	suspended.Seen.Groups = nil
	fewer := plantest.New(3, 4, 2)
	fewer.Want(topology.TiKV).Replicas = 2
	lastOfZone := plantest.New(3, 4, 2)
	lastOfZone.Want(topology.TiKV).Replicas = 3
	for i, zone := range []string{"a", "a", "b", "c"} {
		lastOfZone.Seen.PD.Placement.Stores = append(lastOfZone.Seen.PD.Placement.Stores,
			state.Store{ID: uint64(i + 1), State: state.StoreUp, Labels: map[string]string{"zone": zone}})
	}
	lastOfZone.Seen.PD.Placement.Rules = [][]state.PlacementRule{{{Count: 3, LocationLabels: []string{"zone"}, IsolationLevel: "zone", Configured: true}}}
	sized := func(size string) *v1alpha1.TidbCluster {
		return basic(func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.Requests[corev1.ResourceStorage] = resource.MustParse(size)
		})
	}
	const gi = topology.Size(1 << 30)
	asked := plantest.New(3, 3, 2).Volumes(topology.TiKV, 10*gi, 10*gi)
	asked.Member("t-tikv-1").Claims[0].Requested = 20 * gi
	uncertified := plantest.New(3, 3, 2)
	uncertified.Want(topology.PD).Lacks = []desired.Lack{{
		Need: desired.ValidCertificate, Object: "t-pd-cluster-secret", Observed: "Secret t-pd-cluster-secret does not exist",
		Remedy: remedy.Remedy{remedy.Run("have it made", remedy.Plugin("", "tls", "init", "t"))},
	}}
	overTLS := basic(func(tc *v1alpha1.TidbCluster) { tc.Name, tc.Spec.TLSCluster = "t", &v1alpha1.TLSCluster{Enabled: true} })
	for _, c := range []struct {
		name    string
		r       Request
		cluster *plantest.Cluster
		code    exit.Code
		says    string
	}{
		{"good", Request{Change: intent.Change{Now: born, Write: write}}, plantest.New(3, 3, 2), exit.OK, ""},
		{"fewer stores than copies", Request{Change: intent.Change{Now: born, Write: write}}, fewer, exit.Refused, "max-replicas=3"},
		{"tikv-11-31: the last store of its zone", Request{Change: intent.Change{Now: born, Write: write}}, lastOfZone, exit.Refused,
			"the other stores are only in zone a, b; ask for 4 or more; or add a TiKV store in another zone; or have copies share a zone: " +
				"kubectl exec t-pd-0 -c pd -n ns -- /pd-ctl config set isolation-level ''"},
		{"PD does not answer", Request{Change: intent.Change{Now: born, Write: write}}, plantest.New(3, 3, 2).PDUnknown(), exit.Refused, "--force"},
		{"PD does not answer, and the change repairs it", Request{Change: intent.Change{Now: born, Write: write}, WithoutPD: true}, plantest.New(3, 3, 2).PDUnknown(), exit.OK, ""},
		{"PD has not bootstrapped", Request{Change: intent.Change{Now: unborn, Write: write}}, plantest.New(3, 3, 2).PDUnknown(), exit.OK, ""},
		{"PD is suspended", Request{Change: intent.Change{Now: asleep, Write: write}}, suspended, exit.OK, ""},
		{"PD is about to be suspended", Request{Change: intent.Change{Now: asleep, Write: write}}, plantest.New(3, 3, 2).PDUnknown(), exit.Refused, "--force"},
		{"nothing is to be changed", Request{Change: intent.Change{Now: born}}, plantest.New(3, 3, 2).PDUnknown(), exit.OK, ""},
		{"tidb-B20: a growth that has begun is called off", Request{Change: intent.Change{Now: sized("20Gi"), Write: write}}, asked, exit.Refused,
			"spec.tikv.requests.storage: claim tikv-t-tikv-1 has been asked to have 20Gi, and volumes can not shrink to 10Gi"},
		{"a growth that has not begun is called off", Request{Change: intent.Change{Now: sized("20Gi"), Write: write}},
			plantest.New(3, 3, 2).Volumes(topology.TiKV, 10*gi, 10*gi), exit.OK, ""},
		{"a claim was made larger by hand", Request{Change: intent.Change{Now: sized("10Gi"), Write: write}}, asked, exit.OK, ""},
		{"a new cluster", Request{Change: intent.Change{Write: write}}, plantest.New(3, 3, 2).PDUnknown(), exit.OK, ""},
		{"pd-B29: a new cluster without a certificate", Request{Change: intent.Change{Write: write}}, uncertified, exit.Refused,
			"nothing was changed: Secret t-pd-cluster-secret does not exist; have it made: kubectl tidb tls init t"},
		{"a new cluster that makes its certificates", Request{Change: intent.Change{Write: write}, Makes: []string{"t-pd-cluster-secret"}}, uncertified, exit.OK, ""},
		{"a cluster that has lost a certificate", Request{Change: intent.Change{Now: overTLS, Write: write}}, uncertified, exit.OK, ""},
	} {
		wantRefusal(t, c.name, propose(c.r).allow(c.cluster.Wanted, c.cluster.Seen), c.code, c.says)
	}
}

func wantRefusal(t *testing.T, name string, err error, code exit.Code, says string) {
	t.Helper()
	if exit.Of(err) != code {
		t.Errorf("%s: exit code %d, want %d: %v", name, exit.Of(err), code, err)
	}
	if code != exit.OK && !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %q does not say %q", name, err, says)
	}
	if code != exit.OK && strings.Count(err.Error(), "\n") != strings.Count(err.Error(), "\n  ") {
		t.Errorf("%s: %q is more than a paragraph and a list", name, err)
	}
}
