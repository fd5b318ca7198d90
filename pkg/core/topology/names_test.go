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

func TestMember(t *testing.T) {
	c := Cluster{Name: "basic", Namespace: "db"}
	for _, k := range Kinds() {
		for _, host := range []string{c.PodName(k, 3), c.PodHost(k, 3)} {
			if got, n, ok := c.Member(host); !ok || got != k || n != 3 {
				t.Errorf("%s is member %d of %q, %v", host, n, got, ok)
			}
		}
	}
	for _, host := range []string{"basic-drainer-0", "other-tikv-0", "basic-tikv", ""} {
		if k, n, ok := c.Member(host); ok {
			t.Errorf("%q is member %d of %s", host, n, k)
		}
	}
}

// TestNamed: an argument names members with the name of their cluster or without it, and no others.
func TestNamed(t *testing.T) {
	c := Cluster{Name: "basic", Namespace: "db"}
	for _, k := range Kinds() {
		for arg, want := range map[string]int{string(k): Every, string(k) + "-3": 3, c.PodName(k, 3): 3} {
			if got, n, ok := c.Named(arg); !ok || got != k || n != want {
				t.Errorf("%s is member %d of %q, %v", arg, n, got, ok)
			}
		}
	}
	// The name of a cluster can be that of a component.
	c = Cluster{Name: "tikv", Namespace: "db"}
	for arg, want := range map[string]int{"tikv": Every, "tikv-0": 0, "tikv-tikv-1": 1} {
		if k, n, ok := c.Named(arg); !ok || k != TiKV || n != want {
			t.Errorf("%s is member %d of %q, %v", arg, n, k, ok)
		}
	}
	c = Cluster{Name: "basic", Namespace: "db"}
	for _, arg := range []string{"", "basic", "basic-tikv", "other-tikv-0", "cdc", "tikv-", "tikv-01", "tikv--1", "log.level"} {
		if k, n, ok := c.Named(arg); ok {
			t.Errorf("%q is member %d of %s", arg, n, k)
		}
	}
}

func TestHasPDName(t *testing.T) {
	c := Cluster{Name: "basic", Namespace: "db"}
	across := Cluster{Name: "basic", Namespace: "db", AcrossK8s: true, Domain: "a.local"}
	for _, tt := range []struct {
		c    Cluster
		name string
		want bool
	}{
		{c, "basic-pd-1", true},
		{c, "basic-pd-1.basic-pd-peer.db.svc", true},
		{c, "basic-pd-1.basic-pd-peer.other.svc", false},
		{c, "basic-tikv-1", false},
		{c, "pd", false},
		{across, "basic-pd-1.basic-pd-peer.db.svc.a.local", true},
		{across, "basic-pd-1.basic-pd-peer.db.svc.b.local", false},
		{across, "basic-pd-1", false},
	} {
		if got := tt.c.HasPDName(tt.name); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
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

// TestHostOfAnotherDomain: a pod of another Kubernetes cluster can have the name and the namespace of a pod here. A member
// that was started before the cluster got its domain keeps an address without it.
func TestHostOfAnotherDomain(t *testing.T) {
	const host = "basic-tikv-1.basic-tikv-peer.db.svc"
	for _, tt := range []struct {
		domain, host string
		own          bool
	}{
		{"eu.example", host + ".eu.example", true}, {"eu.example", host, true}, {"eu.example", host + ".us.example", false},
		{"", host, true}, {"", host + ".cluster.local", true}, {"", host + "c.example", false},
	} {
		c := Cluster{Namespace: "db", Name: "basic", Domain: tt.domain}
		if n, own := c.HostOrdinal(TiKV, tt.host); own != tt.own || own && n != 1 {
			t.Errorf("%s in the domain %q: ordinal %d, %t; want %t", tt.host, tt.domain, n, own, tt.own)
		}
	}
}
