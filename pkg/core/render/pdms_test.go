package render

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// operatorsStart are start scripts in the form of tidb-operator, as far as the spec decides about them.
const (
	operatorsPD  = "ARGS=\" services api --data-dir=/var/lib/pd \\\n--name=${PD_DOMAIN} \\\n--advertise-peer-urls=https://${PD_DOMAIN}:2380\"\n#.svc.a.example\nexec /pd-server ${ARGS}\n"
	operatorsTSO = "PDMS_DOMAIN=${PDMS_POD_NAME}.basic-tso-peer.db.svc.a.example\nARGS=\" services tso --name=${PDMS_DOMAIN} \\\n--backend-endpoints=https://basic-pd:2379 \\\n--config=/etc/pd/pd.toml\"\nexec /pd-server ${ARGS}\n"
)

// TestServiceScript: a start script of tidb-operator for the same service stays, and another one does not.
func TestServiceScript(t *testing.T) {
	c := load(t, "services")
	for _, tt := range []struct {
		kind topology.Kind
		text string
		fits bool
	}{
		{topology.TSO, operatorsTSO, true},
		{topology.Scheduling, operatorsTSO, false},
		{topology.TSO, strings.ReplaceAll(operatorsTSO, "basic-pd:", "other-pd:"), false},
		{topology.TSO, strings.ReplaceAll(operatorsTSO, ".a.example", ""), false},
	} {
		if got := serviceScript(c, tt.kind).startsAsWanted(tt.text); got != tt.fits {
			t.Errorf("%s fits: %t: %s", tt.kind, got, tt.text)
		}
	}
	if pd := pdScript(c, "/var/lib/pd"); !pd.startsAsWanted(operatorsPD) || pd.startsAsWanted(strings.ReplaceAll(operatorsPD, "services api", "")) {
		t.Error("PD in another mode fits, or the same one does not")
	}
}

// TestModeOfPD: PD is not started in another mode than its pods have, also where nobody has validated the change.
func TestModeOfPD(t *testing.T) {
	alone := func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.Mode, tc.Spec.PDMS = "", nil }
	served := func(tc *v1alpha1.TidbCluster) { tc.Status.ClusterID = "1" }
	with, without := load(t, "services", served), load(t, "services", alone, served)
	neverServed := load(t, "services", alone)
	for _, tt := range []struct {
		was, is topology.Cluster
		says    string // in the error, "" for none
	}{
		{with, with, ""},
		{without, without, ""},
		{with, without, "back to ms"},
		{without, with, "take the mode out"},
		{with, neverServed, ""},
	} {
		have := created(t, want(t, tt.was, nothing(), state.Snapshot{}))
		_, err := Want(state.Observation{Cluster: tt.is, Existing: have})
		var refused *RefusedError
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("refused: %v", err)
		case tt.says != "" && (!errors.As(err, &refused) || len(refused.Fields) != 1 || refused.Fields[0].Field != "spec.pd.mode" || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("no refusal with %q: %v", tt.says, err)
		}
	}
}

// TestStatusOfServices: the status has the addresses that PD lists, and keeps them while PD lists none.
func TestStatusOfServices(t *testing.T) {
	c := load(t, "services")
	w := want(t, c, nothing(), state.Snapshot{})
	o := state.Observation{Cluster: c, Existing: created(t, w)}
	member := func(n int, p state.Presence) state.Member {
		return state.Member{Kind: topology.TSO, Ordinal: n, Name: c.PodName(topology.TSO, n), Database: state.Database{Presence: p, Healthy: true}}
	}
	group := func(a, b state.Presence) {
		set := state.Set{Exists: true, Replicas: 2}
		o.Snapshot.Groups = map[topology.Kind]state.Group{topology.TSO: {Set: set, Members: []state.Member{member(0, a), member(1, b)}}}
	}
	group(state.Present, state.Absent)
	status := Status(o, w, plan.Plan{}, v1alpha1.TidbClusterStatus{})
	tso := status.PDMS["tso"]
	if tso == nil || tso.Name != "tso" || tso.StatefulSet == nil || !slices.Equal(tso.Members, []string{c.MemberURL(topology.TSO, 0, 2379)}) {
		t.Fatalf("got %+v", tso)
	}
	group(state.Present, state.Unknown)
	if again := Status(o, w, plan.Plan{}, status).PDMS["tso"]; !slices.Equal(again.Members, tso.Members) {
		t.Errorf("got %v", again.Members)
	}
	basic := load(t, "basic")
	without := Status(state.Observation{Cluster: basic, Existing: nothing()}, desired.State{Cluster: basic}, plan.Plan{}, v1alpha1.TidbClusterStatus{})
	if without.PDMS != nil {
		t.Errorf("a cluster without services has %v", without.PDMS)
	}
}

// TestServicesOfOperator: what tidb-operator makes of a service stays as it is, with no write and no restart.
func TestServicesOfOperator(t *testing.T) {
	c := load(t, "services")
	have := created(t, want(t, c, nothing(), state.Snapshot{}))
	record, err := os.ReadFile(filepath.Join("testdata", "applied", "services-tso.json"))
	if err != nil {
		t.Fatal(err)
	}
	var applied appsv1.StatefulSetSpec
	if err := json.Unmarshal(record, &applied); err != nil {
		t.Fatal(err)
	}
	live := have.Sets[topology.TSO]
	live.Annotations[annLastApplied] = strings.TrimSpace(string(record))
	live.Spec.Template = applied.Template
	have.ConfigMaps["basic-tso"].Data[keyScript] = operatorsTSO
	w := want(t, c, have, state.Snapshot{PD: state.PD{ClusterID: 7}})
	g := groupOf(t, w, topology.TSO)
	if Template(live) != g.Template || g.Set.Drift != desired.None || g.Config[0].Drift != desired.None || g.Services[0].Drift != desired.None {
		t.Errorf("to be written: %v, %v, %v; there is %s", g.Set.Drift, g.Config[0].Drift, g.Services[0].Drift, record)
	}
	live.Spec.Template.Spec.Containers[0].Image = "pingcap/pd:v8.5.1"
	live.Annotations[annLastApplied] = strings.ReplaceAll(live.Annotations[annLastApplied], "v8.5.2", "v8.5.1")
	if g := groupOf(t, want(t, c, have, state.Snapshot{PD: state.PD{ClusterID: 7}}), topology.TSO); g.Set.Drift == desired.None {
		t.Error("another image is not written")
	}
}
