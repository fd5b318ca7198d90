package target

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

func TestOnly(t *testing.T) {
	named := func(names ...string) (all []v1alpha1.TidbCluster) {
		for _, n := range names {
			all = append(all, v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Name: n}})
		}
		return all
	}
	for _, c := range []struct {
		clusters []v1alpha1.TidbCluster
		want     string
		says     string
	}{
		{named("basic"), "basic", ""},
		{named(), "", "no TidbCluster in namespace db"},
		{named("basic", "other"), "", "name one: basic, other"},
	} {
		got, err := only("db", c.clusters)
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if c.says != "" && (exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("exit code %d, %q does not say %q", exit.Of(err), err, c.says)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for _, c := range []struct {
		version, old, says string
	}{
		{"v8.1.1", "v8.1.0", ""},
		{"v8.1.1", "", ""},
		{"v8.1.1-20240101", "v8.1.0", ""},
		{"v8.1.0-custom", "v8.1.0", ""},
		{"v4.0.16_custom", "v4.0.0-rc.2", ""},
		{"nightly", "v8.1.0", ""},
		{"latest", "", ""},
		{"v8.1", "v8.1.0", "did you mean v8.1.0?"},
		{"v8.1", "", "did you mean v8.1.0?"},
		{"v8", "v7.5.1", "did you mean v8.0.0?"},
		{"V8.1.1", "v8.1.0", "did you mean v8.1.1?"},
		{"v8.1-custom", "v8.1.0-custom", "did you mean v8.1.0-custom?"},
		{"v8.1", "nightly", "did you mean v8.1.0?"},
		{"v8.1.1.1", "v8.1.0", "not a release"},
		{"v8.x.0", "v8.1.0", "not a release"},
		{"v8.1.0@sha256:00", "v8.1.0", "cannot be the tag"},
		{"v8.1.0 ", "8.1.0", "cannot be the tag"},
		{"8.1.1", "v8.1.0", "did you mean v8.1.1"},
		{"8.1.1", "", "did you mean v8.1.1"},
		{"8.1.1", "8.1.0", ""}, // images of their own, with names of their own
		{"v8.2", "v8.1", ""},
		{"build-78", "build-77", ""},
		{"build-78", "v8.1.0", "spec.version"},
		{"", "", "cannot be the tag"},
	} {
		err := CheckVersion(c.version, c.old)
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q after %q: %v, want %q", c.version, c.old, err, c.says)
		}
	}
}

// TestWithin: a completion ends also if a call does not end with its context.
func TestWithin(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	never := make(chan struct{})
	defer close(never)
	if got := Within(ctx, func() []string { <-never; return []string{"late"} }); got != nil {
		t.Errorf("got %v", got)
	}
	if got := Within(t.Context(), func() []string { return []string{"basic"} }); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
