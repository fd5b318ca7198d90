package topology

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestSysctls: what a shell or sysctl would take for more than a value is refused; what people set is not.
func TestSysctls(t *testing.T) {
	for value, valid := range map[string]bool{
		"32768": true, "-1": true, "0": true, "": true, "bbr": true, "fq_codel": true, "4096 87380 16777216": true, "32768\t60999": true,
		`"4096 87380 16777216"`: true, "'1 2'": true, "/tmp/core.%e.%p": true, "8081,9000-": false, "8081,9000": true,
		"1; nsenter -t 1 -m sh -c id #": false, "1 && id": false, "$(id)": false, "`id`": false, "1|id": false, "1\nid": false, "1>x": false, "1<x": false,
		"1 -p /tmp/x": false, "1 --system": false, "--system": false, `"1" 2"`: false, `'1`: false, `1\`: false, "{a,b}": false, "*": false, "~": false,
		"a b #c": false, "!x": false, `"$x"`: false, "'a'b'": false, "(x)": false, "&": false, "1\x00": false, "é": false, "1\r2": false,
	} {
		errs := InvalidSysctls(&corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "net.core.somaxconn", Value: value}}}, field.NewPath("x"))
		if (len(errs) == 0) != valid || len(errs) > 0 && errs[0].Field != "x.sysctls[0].value" {
			t.Errorf("%q: %v", value, errs)
		}
	}
	for name, valid := range map[string]bool{
		"net.core.somaxconn": true, "net/ipv4/tcp_syncookies": true, "vm.swappiness": true, "net.ipv4.conf.eth0-1.x": true,
		"": false, "a=b; id": false, "-w": false, "A.b": false, "a..b": false, "a b": false, "$(id)": false, "a.b.": false, strings.Repeat("a", 254): false,
	} {
		errs := InvalidSysctls(&corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: name, Value: "1"}}}, field.NewPath("x"))
		if (len(errs) == 0) != valid {
			t.Errorf("%q: %v", name, errs)
		}
	}
}

// TestSysctlsAreValidated: for the cluster and for each component, with and without the annotation.
func TestSysctlsAreValidated(t *testing.T) {
	const bad = `{podSecurityContext: {sysctls: [{name: a, value: "1"}, {name: net.core.somaxconn, value: "1; id"}]}}`
	for path, spec := range map[string]string{
		"spec.podSecurityContext.sysctls[1].value":      bad,
		"spec.tikv.podSecurityContext.sysctls[1].value": `{tikv: ` + bad + `}`,
		"spec.pd.podSecurityContext.sysctls[1].value":   `{pd: ` + bad + `}`,
	} {
		if errs := Validate(New(written(t, spec))); !has(errs, field.ErrorTypeInvalid, path, "32768") {
			t.Errorf("%s: %v", path, errs)
		}
	}
}
