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
		{[]string{"scale", "basic", "tidb=0"}, "", "kubectl tidb scale basic tidb=0 --yes -n db --context prod"},
		{[]string{"sync", "-n", "db"}, "db", "kubectl tidb sync -n db --yes --context prod"},
		{[]string{"apply", "-f", "my cluster's.yaml"}, "", `kubectl tidb apply -f 'my cluster'\''s.yaml' --yes -n db --context prod`},
		{[]string{"sync", "basic", "--context=prod"}, "", "kubectl tidb sync basic --context=prod --yes -n db"},
	} {
		f := New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "")
		f.Args, *f.Flags.Namespace = c.args, c.namespace
		if got := f.Again("db", "--yes").Line("prod"); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
