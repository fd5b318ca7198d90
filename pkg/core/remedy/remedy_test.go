package remedy_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name, context, want string
		remedy              remedy.Remedy
	}{
		{"a sentence", "", "add a store", remedy.Remedy{remedy.Say("add a store")}},
		{"a command", "", "kubectl describe pod basic-pd-0 -n tidb",
			remedy.Remedy{remedy.Run("", remedy.Kubectl("tidb", "describe", "pod", "basic-pd-0"))}},
		{"with a context", "prod", "see why: kubectl describe pod basic-pd-0 -n tidb --context prod",
			remedy.Remedy{remedy.Run("see why", remedy.Kubectl("tidb", "describe", "pod", "basic-pd-0"))}},
		{"no namespace", "", "kubectl describe crd x", remedy.Remedy{remedy.Run("", remedy.Kubectl("", "describe", "crd", "x"))}},
		{"flags come before the words of the other program", "a b",
			"kubectl exec basic-pd-0 -c pd -n tidb --context 'a b' -- /pd-ctl store 4",
			remedy.Remedy{remedy.Run("", remedy.Kubectl("tidb", "exec", "basic-pd-0", "-c", "pd", "--", "/pd-ctl", "store", "4"))}},
		{"a context that the words give", "prod", "kubectl tidb list --context=x && kubectl tidb list --context x -n db",
			remedy.Remedy{remedy.Run("", remedy.Plugin("", "list", "--context=x"), remedy.Plugin("db", "list", "--context", "x"))}},
		{"contexts that the words give", "prod", "kubectl tidb upgrade --all v8.5.2 --contexts 'prod-*'",
			remedy.Remedy{remedy.Run("", remedy.Plugin("", "upgrade", "--all", "v8.5.2", "--contexts", "prod-*"))}},
		{"a context that another program takes", "prod", "kubectl exec p --context prod -- x --context=y",
			remedy.Remedy{remedy.Run("", remedy.Kubectl("", "exec", "p", "--", "x", "--context=y"))}},
		{"of the plugin", "", "kubectl tidb sync basic -n tidb", remedy.Remedy{remedy.Run("", remedy.Plugin("tidb", "sync", "basic"))}},
		{"one after another", "", "kubectl delete pod a -n x && kubectl tidb sync b -n x",
			remedy.Remedy{remedy.Run("", remedy.Kubectl("x", "delete", "pod", "a"), remedy.Plugin("x", "sync", "b"))}},
		{"alternatives", "", "wait; or kubectl get pods -n x",
			remedy.Remedy{remedy.Say("wait"), remedy.Run("", remedy.Kubectl("x", "get", "pods"))}},
		{"by hand", "prod", "${EDITOR:-vi} 'a b' && kubectl get pods -n x --context prod",
			remedy.Remedy{remedy.Run("", remedy.Edit("a b"), remedy.Kubectl("x", "get", "pods"))}},
		{"files", "", `kubectl create -f - -n x < 'a b' > out`,
			remedy.Remedy{remedy.Run("", remedy.Kubectl("x", "create", "-f", "-").Reading("a b").Writing("out"))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.remedy.Line(c.context); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestQuoting has a real shell read words back, with characters that mean something to it.
func TestQuoting(t *testing.T) {
	words := []string{"patch", "it's", `{"spec":{"a b":"$HOME"}}`, "*", "", "~x", "a;b", "`id`", "new\nline", `back\slash`, "é", "!x", "a#b", "#c"}
	line := remedy.Kubectl("ns", words...).Line("ctx; exit 1")
	script := "kubectl() { printf '%s\\0' \"$@\"; }\n" + line
	out, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if want := append(words, "-n", "ns", "--context", "ctx; exit 1"); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
