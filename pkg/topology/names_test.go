package topology

import "testing"

func TestOrdinal(t *testing.T) {
	c := Cluster{Name: "basic", Namespace: "db"}
	for host, want := range map[string]int{
		"basic-tikv-0":                            0,
		"basic-tikv-12":                           12,
		"basic-tikv-3.basic-tikv-peer.db.svc":     3,
		"basic-tikv-3.basic-tikv-peer.db.svc.a.b": 3,
		"basic-tikv-03":                           -1,
		"basic-tikv--1":                           -1,
		"basic-tikv-":                             -1,
		"basic-tikv-x":                            -1,
		"basic-pd-0":                              -1,
		"other-basic-tikv-0":                      -1,
		"basic-tikv":                              -1,
	} {
		got, ok := c.Ordinal(TiKV, host)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("ordinal of %s is %d, want %d", host, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	c := Cluster{Name: "basic", Namespace: "db"}
	apart := Cluster{Name: "basic", Namespace: "db", Domain: "a.b"}
	across := Cluster{Name: "basic", Namespace: "db", AcrossK8s: true}
	for got, want := range map[string]string{
		c.PodHost(TiKV, 1):     "basic-tikv-1.basic-tikv-peer.db.svc",
		apart.PodHost(TiKV, 1): "basic-tikv-1.basic-tikv-peer.db.svc.a.b",
		c.PDName(1):            "basic-pd-1",
		apart.PDName(1):        "basic-pd-1.basic-pd-peer.db.svc.a.b",
		across.PDName(1):       "basic-pd-1.basic-pd-peer.db.svc",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Names use the cluster's name and labels its instance name, which may differ.
func TestLabels(t *testing.T) {
	c := Cluster{Name: "basic", Instance: "release-7"}
	labels := c.Labels(TiKV)
	want := map[string]string{
		"app.kubernetes.io/name": "tidb-cluster", "app.kubernetes.io/managed-by": "tidb-operator",
		"app.kubernetes.io/instance": "release-7", "app.kubernetes.io/component": "tikv",
	}
	if len(labels) != len(want) {
		t.Errorf("labels %v", labels)
	}
	for k, v := range want {
		if labels[k] != v {
			t.Errorf("label %s is %q, want %q", k, labels[k], v)
		}
	}
}
