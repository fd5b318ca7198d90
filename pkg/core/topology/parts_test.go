package topology

import (
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// TestParts: a part without PD reaches the PD of the part that it joins, and nothing else of that part. The addresses are
// those that tidb-operator writes, but for another namespace, where its short names lead nowhere.
func TestParts(t *testing.T) {
	const tikv = `pd: null, tikv: {replicas: 1, requests: {storage: 1Gi}}, tidb: null`
	for name, tt := range map[string]struct{ spec, pd, tiflash, schema, join string }{
		"alone":             {`{}`, "basic-pd", "basic-pd.db.svc", "basic-tidb.db.svc", ""},
		"with a domain":     {`{clusterDomain: a.example}`, "basic-pd", "basic-pd.db.svc", "basic-tidb.db.svc", ""},
		"same namespace":    {`{cluster: {name: shop}, ` + tikv + `}`, "shop-pd", "shop-pd.db.svc", "shop-tidb.db.svc", "http://shop-pd.db.svc:2379"},
		"another namespace": {`{cluster: {name: shop, namespace: prod}, ` + tikv + `}`, "shop-pd.prod.svc", "shop-pd.prod.svc", "shop-tidb.prod.svc", "http://shop-pd.prod.svc:2379"},
		"another domain": {
			`{cluster: {name: shop, clusterDomain: b.example}, ` + tikv + `}`, "shop-pd", "shop-pd.db.svc.b.example", "shop-tidb.db.svc.b.example",
			"http://shop-pd.db.svc.b.example:2379",
		},
		"with TiDB":  {`{cluster: {name: shop}, pd: null}`, "shop-pd", "shop-pd.db.svc", "basic-tidb.db.svc", "http://shop-pd.db.svc:2379"},
		"with a PD":  {`{cluster: {name: shop}}`, "basic-pd", "basic-pd.db.svc", "basic-tidb.db.svc", "http://shop-pd.db.svc:2379"},
		"of nothing": {`{cluster: {namespace: prod}}`, "basic-pd", "basic-pd.db.svc", "basic-tidb.db.svc", ""},
	} {
		c := New(written(t, tt.spec))
		got := []string{c.PDHost(), c.TiFlashPDHost(), c.TiFlashTiDBHost(), c.JoinURL()}
		for i, want := range []string{tt.pd, tt.tiflash, tt.schema, tt.join} {
			if got[i] != want {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
		if c.UsesOtherPD() != (c.PDPart().Name != c.Name) || c.IsPart() != (tt.join != "") {
			t.Errorf("%s: part %t, other PD %t", name, c.IsPart(), c.UsesOtherPD())
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
