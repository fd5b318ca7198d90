package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// printed matches the commands in an output.
var printed = regexp.MustCompile(`kubectl [^;&\n]*`)

// kubeconfigFor writes one with the context prod, in which a server is. It returns the file.
func kubeconfigFor(t *testing.T, s *apiServer, current string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"" + s.URL + "\"}}]\n" +
		"contexts: [{name: prod, context: {cluster: c}}]\ncurrent-context: \"" + current + "\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCommandsNameTheContext: a command that an error gives is for the cluster that the error is
// about. Without the context it would be for the context that is current where it is pasted, and
// some of these commands delete data.
func TestCommandsNameTheContext(t *testing.T) {
	paused := tidbcluster("basic")
	paused["spec"].(map[string]any)["paused"] = true
	there := map[string]any{tidbclusters + "/basic": tidbcluster("basic"), tidbclusters: clusterList(tidbcluster("basic"))}
	noSuchNamespace := map[string]any{tidbclusters: clusterList()}
	for _, c := range []struct {
		name, args string
		server     *apiServer
		code       int
		commands   []string // their beginnings
	}{
		{"no definition", "list", serve(t, nil), 3, []string{"kubectl tidb init"}},
		{"no cluster", "sync", serve(t, noSuchNamespace), 2, []string{"kubectl tidb list -A", "kubectl tidb create NAME "}},
		{"exists", "create basic --version v8.1.0", kept(t, "", there), 3, []string{"kubectl tidb sync basic "}},
		{"no release", "upgrade basic build-7", kept(t, "", there), 2, []string{"kubectl patch tidbclusters basic ", "kubectl tidb sync basic "}},
		{"paused", "sync basic", kept(t, "", map[string]any{tidbclusters + "/basic": paused}), 6, []string{"kubectl tidb resume basic "}},
		{"malformed", "scale basic tikv=4", malformed(t), 3, []string{"kubectl edit tidbclusters basic "}},
		{"data of a higher version", "create basic --version v8.1.0", kept(t, "v8.5.2", nil), 3,
			[]string{"kubectl tidb ", "kubectl tidb delete basic --delete-pvcs "}},
		{"no terminal", "delete basic", kept(t, "", there), 3, []string{"kubectl tidb "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, how := range []struct{ current, given string }{{"", "--context prod "}, {"", "--context=prod "}, {"prod", ""}} {
				file := kubeconfigFor(t, c.server, how.current)
				r := call(t.Context(), t, strings.Fields("--kubeconfig "+file+" "+how.given+c.args)...)
				commands := printed.FindAllString(r.err, -1)
				if r.code != c.code || len(commands) != len(c.commands) {
					t.Fatalf("exit code %d, want %d with %d commands: %s", r.code, c.code, len(c.commands), r.err)
				}
				for i, line := range commands {
					named := strings.Count(line, "--context prod") + strings.Count(line, "--context=prod")
					if !strings.HasPrefix(line, c.commands[i]) || named != 1 {
						t.Errorf("%s%s: %q does not name the context, or is not %q", how.given, c.args, line, c.commands[i])
					}
				}
			}
		})
	}
}

// TestEventsNameTheContext: the commands in the JSON output name the context as well.
func TestEventsNameTheContext(t *testing.T) {
	paused := tidbcluster("basic")
	paused["spec"].(map[string]any)["paused"] = true
	s := kept(t, "", map[string]any{tidbclusters + "/basic": paused})
	r := call(t.Context(), t, "--kubeconfig", kubeconfigFor(t, s, ""), "--context", "prod", "sync", "basic", "-o", "json")
	if r.code != 6 || !strings.Contains(r.out, "-n default --context prod") {
		t.Errorf("%+v", r)
	}
}
