package dial

import (
	"errors"
	"testing"
)

func TestParseAddress(t *testing.T) {
	good := map[string]target{
		"basic-pd-0.basic-pd-peer.ns.svc:2379":                {"ns", "basic-pd-0", 2379},
		"basic-pd-0.basic-pd-peer.ns.svc.cluster.local:2379":  {"ns", "basic-pd-0", 2379},
		"basic-pd-0.basic-pd-peer.ns.svc.cluster.local.:2379": {"ns", "basic-pd-0", 2379},
		"basic-tidb-1.basic-tidb-peer.prod:10080":             {"prod", "basic-tidb-1", 10080},
	}
	for addr, want := range good {
		if got, err := parseAddress(addr); err != nil || got != want {
			t.Errorf("parseAddress(%q) = %v, %v", addr, got, err)
		}
	}
	for _, addr := range []string{
		"", "basic-pd.ns.svc:2379", "basic-pd:2379", "10.0.0.1:2379", "[::1]:2379", "basic-pd-0.basic-pd-peer.ns.svc",
		"basic-pd-0.basic-pd-peer.ns.svc:http", "basic-pd-0.basic-pd-peer.ns.svc:0", "basic-pd-0.basic-pd-peer.ns.svc:70000",
		"a.b.c.d:1", "a..c.svc:1",
	} {
		got, err := parseAddress(addr)
		var failure *ForwardError
		if !errors.Is(err, BadAddress) || !errors.As(err, &failure) || !failure.Permanent() {
			t.Errorf("parseAddress(%q) = %v, %v", addr, got, err)
		}
	}
}
