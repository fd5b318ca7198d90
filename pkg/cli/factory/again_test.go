package factory

import (
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestAgain(t *testing.T) {
	for _, c := range []struct {
		args      []string
		namespace string // -n, as the flag says
		want      string
	}{
		{[]string{"scale", "basic", "tidb=0"}, "", "kubectl tidb scale basic tidb=0 -n db --yes"},
		{[]string{"sync", "-n", "db"}, "db", "kubectl tidb sync -n db --yes"},
		{[]string{"apply", "-f", "my cluster's.yaml"}, "", `kubectl tidb apply -f 'my cluster'\''s.yaml' -n db --yes`},
	} {
		f := New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "")
		f.Args, *f.Flags.Namespace = c.args, c.namespace
		if got := f.Again("db", "--yes"); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
