package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestBundle: an archive is written of what can be read, and the rest is named.
func TestBundle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "basic.tar.gz")
	r := malformed(t).call(t, "report", "basic", "--bundle", file)
	if r.code != 0 || r.out != file+"\n" || !strings.Contains(r.err, "not read: events.yaml: ") || !strings.Contains(r.err, "not read: pd: ") {
		t.Errorf("%+v", r)
	}
	for _, l := range []string{"status.json", "findings.json", "tidbcluster.yaml"} {
		if strings.Contains(r.err, l) {
			t.Errorf("%s was not read: %s", l, r.err)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	wantError(t, "no such cluster", malformed(t).call(t, "report", "nothing", "--bundle", file+"2"), exit.Usage, "nothing")
	if _, err := os.Stat(file + "2"); err == nil {
		t.Error("an archive was made of no cluster")
	}
	wantError(t, "not writable", malformed(t).call(t, "report", "basic", "--bundle", filepath.Join(file, "x")), exit.Usage, "write the archive")
}

// TestDoctorOfMalformed: findings are shown without the configuration, and the command fails.
func TestDoctorOfMalformed(t *testing.T) {
	r := malformed(t).call(t, "doctor", "basic")
	if r.code != 3 || !strings.Contains(r.out, "error    blocked") || !strings.Contains(r.out, wrongLine) || !strings.Contains(r.out, "unknown  pd-unknown") {
		t.Errorf("%+v", r)
	}
	if r := malformed(t).call(t, "doctor", "basic", "-o", "json"); r.code != 3 || !strings.Contains(r.out, `"id": "blocked"`) {
		t.Errorf("%+v", r)
	}
}
