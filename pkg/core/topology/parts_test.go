package topology

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// TestParts: a part without PD reaches the PD of the part that it joins, and nothing else of that part. The addresses are
// those that tidb-operator writes.
func TestParts(t *testing.T) {
	const tikv = `pd: null, tikv: {replicas: 1, requests: {storage: 1Gi}}, tidb: null`
	for name, tt := range map[string]struct {
		spec, pd, tiflash, schema string
		joins                     bool
	}{
		"alone":             {`{}`, "basic-pd", "basic-pd.db.svc", "basic-tidb.db.svc", false},
		"with a domain":     {`{clusterDomain: a.example}`, "basic-pd", "basic-pd.db.svc", "basic-tidb.db.svc", false},
		"a part":            {`{cluster: {name: shop}, ` + tikv + `}`, "shop-pd", "shop-pd.db.svc", "shop-tidb.db.svc", true},
		"another namespace": {`{cluster: {name: shop, namespace: prod}, ` + tikv + `}`, "shop-pd.prod", "shop-pd.prod.svc", "shop-tidb.prod.svc", true},
		"another domain": {
			`{cluster: {name: shop, clusterDomain: b.example}, tidb: null}`,
			"basic-pd,shop-pd-peer.db.svc.b.example", "basic-pd.db.svc,shop-pd-peer.db.svc.b.example", "shop-tidb-peer.db.svc.b.example", false,
		},
		"across": {
			`{acrossK8s: true, clusterDomain: a.example, cluster: {name: shop, namespace: prod, clusterDomain: a.example}}`,
			"basic-pd,shop-pd-peer.prod.svc.a.example", "basic-pd.db.svc,shop-pd-peer.prod.svc.a.example", "basic-tidb.db.svc", false,
		},
		"a domain": {
			`{clusterDomain: b.example, cluster: {name: shop, clusterDomain: b.example}, ` + tikv + `}`,
			"shop-pd", "shop-pd.db.svc.b.example", "shop-tidb.db.svc.b.example", true,
		},
		"with TiDB":  {`{cluster: {name: shop}, pd: null}`, "shop-pd", "shop-pd.db.svc", "basic-tidb.db.svc", true},
		"with a PD":  {`{cluster: {name: shop}}`, "basic-pd", "basic-pd.db.svc", "basic-tidb.db.svc", false},
		"of nothing": {`{cluster: {namespace: prod}}`, "basic-pd", "basic-pd.db.svc", "basic-tidb.db.svc", false},
	} {
		c := New(written(t, tt.spec))
		got := []string{strings.ReplaceAll(c.PDEndpoints(), ":2379", ""), strings.ReplaceAll(c.TiFlashPDEndpoints(), ":2379", ""), c.TiFlashTiDBHost()}
		for i, want := range []string{tt.pd, tt.tiflash, tt.schema} {
			if got[i] != want {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
		if c.UsesOtherPD() != tt.joins || c.PDPart().Name == c.Name == tt.joins {
			t.Errorf("%s: uses another PD: %t, of %s", name, c.UsesOtherPD(), c.PDPart().Name)
		}
	}
}

// TestPartMoves: a part cannot go to another PD once its members have data of a database.
func TestPartMoves(t *testing.T) {
	joined := func(name string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Spec.Cluster = nil
			if name != "" {
				tc.Spec.Cluster = &v1alpha1.TidbClusterRef{Name: name}
			}
		}
	}
	for name, tt := range map[string]struct {
		was, is string
		born    bool
		refused bool
	}{
		"stays":                {"shop", "shop", true, false},
		"another one":          {"shop", "other", true, true},
		"none":                 {"shop", "", true, true},
		"becomes a part":       {"", "shop", true, true},
		"another one, no data": {"shop", "other", false, false},
	} {
		old, now := valid(), valid()
		joined(tt.was)(old)
		joined(tt.is)(now)
		if tt.born {
			old.Status.ClusterID, now.Status.ClusterID = "7", "7"
		}
		was := New(old)
		errs := ValidateUpdate(&was, New(now))
		refused := false
		for _, e := range errs {
			refused = refused || e.Field == "spec.cluster"
		}
		if refused != tt.refused {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// TestPartsIn: parts of other namespaces use the PD of a TidbCluster whose annotation names their namespaces.
func TestPartsIn(t *testing.T) {
	tc := valid()
	if AllowsParts(tc, "reports") || !AllowsParts(tc, tc.Namespace) {
		t.Error("without the annotation")
	}
	if got, want := ToAllowParts(tc, "reports").Line(""), "kubectl annotate tidbcluster basic --overwrite kubectl-tidb/parts-in=reports -n db"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	tc.Annotations = map[string]string{AnnotationPartsIn: "reports, , tests"}
	if !AllowsParts(tc, "reports") || !AllowsParts(tc, "tests") || AllowsParts(tc, "report") || AllowsParts(tc, "") {
		t.Error("with the annotation")
	}
	if got := ToAllowParts(tc, "more").Line(""); !strings.Contains(got, "=reports,tests,more ") {
		t.Errorf("%q leaves namespaces out", got)
	}
	tc.Annotations[AnnotationPartsIn] = "reports,no_name"
	if errs := Validate(New(tc)); len(errs) != 1 || errs[0].Field != "metadata.annotations[kubectl-tidb/parts-in]" || errs[0].BadValue != "no_name" {
		t.Errorf("got %v", errs)
	}
}
