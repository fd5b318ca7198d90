package backup_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

// TestDestination: a URL is read into one form, and what BR would ignore, or others could read, is refused.
func TestDestination(t *testing.T) {
	for text, want := range map[string]string{
		"s3://b/p":                               "s3://b/p",
		"s3://b//p/q/":                           "s3://b/p/q",
		"s3://b/p?endpoint=http://minio.s3:9000": "s3://b/p?endpoint=http%3A%2F%2Fminio.s3%3A9000",
		"s3://b/p?force_path_style=false&Region=eu-west-1&acl=private": "s3://b/p?acl=private&force-path-style=false&region=eu-west-1",
	} {
		d, err := backup.ParseDestination(text)
		if err != nil || d.URL() != want {
			t.Errorf("%s: %s, %v", text, d.URL(), err)
		}
		if again, err := backup.ParseDestination(d.URL()); err != nil || again.URL() != want {
			t.Errorf("%s is read back as %s, %v", want, again.URL(), err)
		}
	}
	for text, says := range map[string]string{
		"":                                      "begins with s3://",
		"/var/backups":                          "begins with s3://",
		"ftp://host/p":                          "ftp://host/p is not of a kind that is known",
		"gcs://b/p":                             "only s3:// is",
		"s3:///p":                               "has no bucket",
		"s3://b":                                "has no prefix",
		"s3://b/":                               "has no prefix",
		"s3://b/p#x":                            "has a fragment",
		"s3://b/p%3Faccess-key=PASSWORD":        "a prefix has no characters that a URL escapes",
		"s3://b/p%23x":                          "a prefix has no characters that a URL escapes",
		"s3://b:80/p":                           "a bucket has letters, digits",
		"s3://b/p?region=a&Region=b":            "has parameter region twice",
		"s3://b/p?endpoint=http://a&endpoint=b": "has parameter endpoint twice",
		"s3://b/p?endpoint=minio:9000":          "has an endpoint without http://",
		"s3://b/p?endpoint=http://":             "has an endpoint without http://",
		"s3://b/p?endpoint=http://u:PASSWORD@h": "more than a host",
		"s3://b/p?force-path-style=maybe":       "neither true nor false",
		"s3://b/p?acess-key=PASSWORD":           `unknown parameter "acess-key"`,
		"s3://b/p?access-key=PASSWORD":          "has credentials in parameter access-key",
		"s3://b/p?secret_access_key=PASSWORD":   "has credentials in parameter secret-access-key",
		"s3://user:PASSWORD@b/p":                "has credentials",
		"s3://b/p%zz?session-token=PASSWORD":    "cannot be read",
		"s3://b/p?x=%zzPASSWORD":                "parameters that cannot be read",
	} {
		_, err := backup.ParseDestination(text)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "PASSWORD") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// TestSplitTable: a table is given with its database.
func TestSplitTable(t *testing.T) {
	if db, table, err := backup.SplitTable("app.users"); db != "app" || table != "users" || err != nil {
		t.Errorf("%s, %s, %v", db, table, err)
	}
	for _, text := range []string{"users", ".users", "app.", "a.b.c", "."} {
		if _, _, err := backup.SplitTable(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
