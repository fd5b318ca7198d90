package topology

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestListening: a setting that moves or closes a port which Services, probes and the driver use is refused with its
// field. A cluster that has it already can still be changed, and gets a warning.
func TestListening(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		at   string // "" where it is accepted
		says string
	}{
		"the port of TiDB":            {`tidb: {config: "port = 4001"}`, "spec.tidb.config[port]", "use 4000: take the setting away"},
		"its status port":             {`tidb: {config: "[status]\nstatus-port = 10081"}`, "spec.tidb.config[status.status-port]", "use 10080"},
		"no status port":              {`tidb: {config: "[status]\nreport-status = false"}`, "spec.tidb.config[status.report-status]", "false"},
		"status only for itself":      {`tidb: {config: "[status]\nstatus-host = \"127.0.0.1\""}`, "spec.tidb.config[status.status-host]", "127.0.0.1"},
		"the ports as they are":       {spec: `tidb: {config: "port = 4000\nhost = \"127.0.0.1\"\n[status]\nstatus-port = 10080\nreport-status = true\nstatus-host = \"0.0.0.0\""}`},
		"what flags override":         {spec: `{pd: {config: "client-urls = \"http://0.0.0.0:12379\""}, tikv: {config: "[server]\nstatus-addr = \"0.0.0.0:20181\""}}`},
		"the port of TiProxy":         {`tiproxy: {replicas: 1, config: "[proxy]\naddr = \"0.0.0.0:6001\""}`, "spec.tiproxy.config[proxy.addr]", "6000"},
		"its other port":              {`tiproxy: {replicas: 1, config: "[api]\naddr = \"127.0.0.1:3080\""}`, "spec.tiproxy.config[api.addr]", "3080"},
		"the ports of TiProxy":        {spec: `tiproxy: {replicas: 1, config: "[proxy]\naddr = \"0.0.0.0:6000\"\n[api]\naddr = \"[::]:3080\""}`},
		"the port of TiFlash":         {`tiflash: {replicas: 1, storageClaims: [{resources: {requests: {storage: 1Gi}}}], config: {config: "[flash]\nservice_addr = \"0.0.0.0:3931\""}}`, "spec.tiflash.config[flash.service_addr]", "3930"},
		"the port of TiFlash's proxy": {`tiflash: {replicas: 1, storageClaims: [{resources: {requests: {storage: 1Gi}}}], config: {config: "[flash.proxy]\naddr = \"0.0.0.0:20171\""}}`, "spec.tiflash.config[flash.proxy.addr]", "20170"},
		"another name, and the same":  {spec: `tiflash: {replicas: 1, storageClaims: [{resources: {requests: {storage: 1Gi}}}], config: {config: "[flash]\nservice_addr = \"basic-tiflash-POD_NUM.basic-tiflash-peer:3930\""}}`},
	} {
		c := New(written(t, tc.spec))
		before := New(valid())
		for _, errs := range []field.ErrorList{ValidateUpdate(nil, c), ValidateUpdate(&before, c)} {
			if tc.at == "" && len(errs) > 0 || tc.at != "" && !has(errs, field.ErrorTypeInvalid, tc.at, tc.says) {
				t.Errorf("%s: %v", name, errs)
			}
		}
		if errs := ValidateUpdate(&c, c); len(errs) > 0 {
			t.Errorf("%s, before: %v", name, errs)
		}
		var warned string
		for _, w := range Warnings(&c, c) {
			if w.Field.String() == tc.at {
				warned = w.Text + "; " + w.Remedy.Line("")
			}
		}
		if warned == "" != (tc.at == "") || tc.at != "" && !strings.Contains(warned, "kubectl tidb config set basic ") && !strings.Contains(warned, "kubectl tidb edit basic -n db") {
			t.Errorf("%s: warning %q", name, warned)
		}
	}
}
