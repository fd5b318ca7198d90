package topology

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const pumpSpec = `{pump: {replicas: 2, requests: {storage: 1Gi}}}`

// TestPump: the names of Pump are those that tidb-operator gives, without "-peer".
func TestPump(t *testing.T) {
	c := New(written(t, pumpSpec))
	if errs := Validate(c); len(errs) > 0 {
		t.Fatal(errs)
	}
	g, _ := c.Group(Pump)
	if g.Image != "pingcap/tidb-binlog:v8.1.0" || g.Volumes[0].Name != "data" {
		t.Errorf("%+v", g)
	}
	if s := c.PeerService(Pump); s != "basic-pump" {
		t.Errorf("the Service is %s", s)
	}
	if h := c.PumpHost(1); h != "basic-pump-1.basic-pump" {
		t.Errorf("it registers as %s", h)
	}
	c.Domain = "a.example"
	if h := c.PumpHost(1); h != "basic-pump-1.basic-pump.db.svc.a.example" {
		t.Errorf("with a domain it registers as %s", h)
	}
}

// TestPumpBinlog: TiDB writes a binlog exactly if it is asked to, or if nothing is said and there is a
// Pump.
func TestPumpBinlog(t *testing.T) {
	for spec, want := range map[string]bool{
		`{}`:     false,
		pumpSpec: true,
		`{pump: {replicas: 2, requests: {storage: 1Gi}}, tidb: {binlogEnabled: false}}`: false,
		`{tidb: {binlogEnabled: true}}`: true,
	} {
		if g, _ := New(written(t, spec)).Group(TiDB); g.Binlog != want {
			t.Errorf("%s: TiDB writes a binlog: %t", spec, g.Binlog)
		}
	}
}

// TestPumpSuspended: Pump can be suspended alone only where TiDB does not write to it.
func TestPumpSuspended(t *testing.T) {
	const asleep = `suspendAction: {suspendStatefulSet: true}`
	for spec, path := range map[string]string{
		`{pump: {replicas: 1, requests: {storage: 1Gi}, ` + asleep + `}}`: "spec.pump.suspendAction.suspendStatefulSet",
		`{pump: {replicas: 1, requests: {storage: 1Gi}}, tidb: {suspendAction: {suspendStatefulSet: false}}, pd: {suspendAction: {suspendStatefulSet: false}}, tikv: {suspendAction: {suspendStatefulSet: false}}, ` + asleep + `}`: "spec.suspendAction.suspendStatefulSet",
		`{pump: {replicas: 1, requests: {storage: 1Gi}, ` + asleep + `}, tidb: {binlogEnabled: false}}`:                                                                                                                             "",
		`{pump: {replicas: 1, requests: {storage: 1Gi}, ` + asleep + `}, tidb: {replicas: 0}}`:                                                                                                                                      "",
		`{pump: {replicas: 1, requests: {storage: 1Gi}}, ` + asleep + `}`:                                                                                                                                                           "",
	} {
		errs := Validate(New(written(t, spec)))
		if path == "" && len(errs) > 0 || path != "" && (len(errs) != 1 || !has(errs, field.ErrorTypeForbidden, path, "binlog")) {
			t.Errorf("%s: %v", spec, errs)
		}
	}
}

// TestPumpWarnings: tidb-B15: what pods of Pump do not get is not ignored silently.
func TestPumpWarnings(t *testing.T) {
	c := New(written(t, `{pump: {replicas: 1, requests: {storage: 1Gi}, readinessProbe: {type: tcp},
		additionalVolumes: [{name: a, emptyDir: {}}], additionalVolumeMounts: [{name: a, mountPath: /a}]}}`))
	var fields []string
	for _, w := range Warnings(nil, c) {
		fields = append(fields, w.Field.String())
	}
	if want := []string{"spec.pump.additionalVolumes", "spec.pump.additionalVolumeMounts", "spec.pump.readinessProbe"}; !slices.Equal(fields, want) {
		t.Errorf("%v", fields)
	}
}

// TestPumpCertificate: TiDB connects to a Pump by the name under which it registers, and this program
// by its full name.
func TestPumpCertificate(t *testing.T) {
	c := New(written(t, `{tlsCluster: {enabled: true}, pump: {replicas: 1, requests: {storage: 1Gi}}}`))
	i := slices.IndexFunc(Certificates(c), func(w Certificate) bool { return w.Secret == "basic-pump-cluster-secret" })
	if i < 0 {
		t.Fatal("no certificate of Pump")
	}
	w := Certificates(c)[i]
	if want := []string{"basic-pump-0.basic-pump.db.svc", "basic-pump-0.basic-pump"}; !slices.Equal(w.Called, want) {
		t.Errorf("called %v", w.Called)
	}
	want := []string{"basic-pump", "basic-pump.db", "basic-pump.db.svc", "*.basic-pump", "*.basic-pump.db", "*.basic-pump.db.svc", "localhost", "127.0.0.1", "::1"}
	if !slices.Equal(w.Names, want) {
		t.Errorf("named %v", w.Names)
	}
}

// TestPumpOrdinal: tidb-S9, tidb-B12: a Pump is found by the short and the full name of its pod, whatever
// its namespace is called, and by its id.
func TestPumpOrdinal(t *testing.T) {
	c := Cluster{Namespace: "db", Name: "db-one"}
	for _, tt := range []struct {
		address, id string
		want        int // -1: none
	}{
		{"db-one-pump-2.db-one-pump:8250", "x", 2},
		{"db-one-pump-2.db-one-pump", "x", 2},
		{"db-one-pump-2.db-one-pump.db:8250", "x", 2},
		{"db-one-pump-2.db-one-pump.db.svc.a.example:8250", "x", 2},
		{"db-one-pump-2:8250", "x", 2},
		{"10.0.0.7:8250", "db-one-pump-3:8250", 3},
		{"", "db-one-pump-3", 3},
		{"db-one-pump-2.db-one-pump.other:8250", "db-one-pump-2:8250", -1},
		{"db-one-pump-2.other:8250", "x", -1},
		{"db-two-pump-2.db-two-pump:8250", "x", -1},
		{"10.0.0.7:8250", "vm-7:8250", -1},
	} {
		n, ok := c.PumpOrdinal(tt.address, tt.id)
		if ok != (tt.want >= 0) || ok && n != tt.want {
			t.Errorf("%s, %s: %d, %t", tt.address, tt.id, n, ok)
		}
	}
}
