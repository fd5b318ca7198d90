package render

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		list []string
		want string
	}{
		{nil, ""},
		{[]string{"--enable-metrics", "--metrics-interval=15"}, "--enable-metrics --metrics-interval=15"},
		{[]string{"--a --b=1", "-L info"}, "--a --b=1 -L info"},
		{[]string{"--path=pd-0:2379,pd-1:2379", "--x=50%", "--y=a+b@c_d"}, "--path=pd-0:2379,pd-1:2379 --x=50% --y=a+b@c_d"},
		{[]string{"", " ", "\n"}, ""},
		{[]string{"--x=a;b"}, `'--x=a;b'`},
		{[]string{"--x=it's"}, `'--x=it'\''s'`},
		{[]string{"--x=$HOME", "--y=`id`", "--z=$(id)"}, "'--x=$HOME' '--y=`id`' '--z=$(id)'"},
		{[]string{"~", "a#b", "#", "*", "ü"}, `'~' 'a#b' '#' '*' 'ü'`},
	} {
		if got := arguments(tt.list); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.list, got, tt.want)
		}
	}
}

// TestStartTiDBWithAnything: whatever is in the spec reaches the server, and
// nothing else happens.
func TestStartTiDBWithAnything(t *testing.T) {
	eachShell(t, func(t *testing.T, shell []string) {
		c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiDB.Plugins = []string{"audit-1", "b;c&d"}
			tc.Spec.TiDB.Arguments = []string{`--a=$(exit 3)`, `--b=x;exit 4`, `--c='"\`, "--d=* --e=~ #f"}
		})
		p := newPod(t, shell, scriptOf(t, c, topology.TiDB), "tidb-server")
		got := p.run("POD_NAME=basic-tidb-0")
		want := []string{"--plugin-dir=/plugins", "--plugin-load=audit-1,b;c&d", "--a=$(exit", "3)", "--b=x;exit", "4", `--c='"\`, "--d=*", "--e=~", "#f"}
		if !slices.Equal(got[len(got)-len(want):], want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestStartPDFromAnywhere: the same of where its data is.
func TestStartPDFromAnywhere(t *testing.T) {
	const sub = "a b/$(exit 3)/`exit 4`;'\"\\$X#"
	eachShell(t, func(t *testing.T, shell []string) {
		c := load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.DataSubDir = sub })
		p := newPod(t, shell, scriptOf(t, c, topology.PD), "pd-server")
		p.write("etc/pd-bootstrap/join", "http://x:2379")
		if got := p.run("POD_NAME=basic-pd-1"); got[0] != "--data-dir=/var/lib/pd/"+sub || !slices.Contains(got, "--join=http://x:2379") {
			t.Errorf("without data: %q", got)
		}
		p.write("var/lib/pd/"+sub+"/join", "a=http://a:2380")
		if got := p.run("POD_NAME=basic-pd-1"); !slices.Contains(got, "--join=http://a:2380") {
			t.Errorf("with data: %q", got)
		}
	})
}

// TestPDWaitsForDataAnywhere: a pod that waits can say where it looks.
func TestPDWaitsForDataAnywhere(t *testing.T) {
	for word, want := range map[string]string{
		"/var/lib/pd/sub": "/var/lib/pd/sub",
		`/var/lib/a b'"`:  `"'/var/lib/a b'\''"'"`,
	} {
		if got := inText(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
		sh, err := exec.LookPath("sh")
		if err != nil {
			continue
		}
		if got := said(t, sh, `printf '%s\0' "in `+inText(word)+`; x"`); !slices.Equal(got, []string{"in " + word + "; x"}) {
			t.Errorf("%q was printed as %q", word, got)
		}
	}
}

// FuzzArguments: a real shell reads the same arguments.
func FuzzArguments(f *testing.F) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		f.Skip("SKIPPED: there is no sh")
	}
	for _, seed := range []string{"--a=1", "a b", "$HOME", "`id`", "'", `"`, `\`, "\\'\n", "*", "~", "#", "!", "a\tb", "&&", "é", "\xff", "{a,b}", "-n", "\r"} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, 0) {
			return // no argument can have one
		}
		const script = "set -uf\nset -- %\nfor word; do printf '%s\\0' \"$word\"; done\n"
		want := append(strings.Fields(a), strings.Fields(b)...)
		if got := said(t, sh, strings.Replace(script, "%", arguments([]string{a, b}), 1)); !slices.Equal(got, want) {
			t.Errorf("%q and %q became %q", a, b, got)
		}
		if got := said(t, sh, strings.Replace(script, "%", quote(a), 1)); len(got) != 1 || got[0] != a {
			t.Errorf("%q became %q", a, got)
		}
	})
}

// said returns the words that a script prints.
func said(t *testing.T, sh, script string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), sh)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	words := strings.Split(string(out), "\x00")
	return words[:len(words)-1]
}
