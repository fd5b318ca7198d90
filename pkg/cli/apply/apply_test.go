package apply

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

func TestFlags(t *testing.T) {
	var got options
	cmd := command(nothing(), func(_ context.Context, o options) error { got = o; return nil })
	cmd.SetOut(io.Discard)
	cmd.SetArgs(strings.Fields("-f x.yaml --force --force-conflicts --dry-run"))
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if got.String() != "x.yaml" || !got.Force || !got.forceConflicts || got.DryRun != flags.ServerDryRun {
		t.Errorf("%+v", got)
	}
}

const manifest = "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\nspec: {version: v8.1.0}\n"

func named(names ...string) Files {
	return Files{resource.FilenameOptions{Filenames: names}}
}

func TestRead(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	elsewhere := strings.Replace(manifest, "name: basic", "name: basic, namespace: there", 1)
	for _, c := range []struct{ name, text, namespace, lands, says string }{
		{"namespace of the kubeconfig", manifest, "", "default", ""},
		{"namespace by flag", manifest, "db", "db", ""},
		{"namespace of its own", elsewhere, "", "there", ""},
		{"two namespaces", elsewhere, "db", "", `namespace "there" in the manifest`},
		{"nothing in it", "", "", "", "there is no TidbCluster"},
		{"twice", manifest + "---\n" + manifest, "", "", "- has TidbCluster default/basic twice: take one of the two out"},
		{"unknown field", manifest + "sepc: {}\n", "", "", "line 5: sepc: unknown field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			streams := genericiooptions.IOStreams{In: bytes.NewBufferString(c.text), Out: io.Discard, ErrOut: io.Discard}
			f := factory.New(streams, os.Getenv, "")
			*f.Flags.Namespace = c.namespace
			all, _, err := named("-").read(t.Context(), f, nil)
			if c.says != "" {
				if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), c.says) {
					t.Errorf("exit code %d, %v does not say %q", exit.Of(err), err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if m := all[0]; len(all) != 1 || m.Cluster.Namespace != c.lands {
				t.Errorf("namespace %q, want %q", m.Cluster.Namespace, c.lands)
			}
		})
	}
}

func TestReadNoFile(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), os.Getenv, "")
	for _, file := range []string{"nothing.yaml", t.TempDir()} {
		if _, _, err := named(file).read(t.Context(), f, nil); exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: exit code %d, %v", file, exit.Of(err), err)
		}
	}
}

// TestOfOthers: what another verb has set is no conflict, and is not named beside one.
func TestOfOthers(t *testing.T) {
	verb, helm := intent.OwnedField{Field: "spec.tikv.replicas", Manager: "kubectl-tidb"}, intent.OwnedField{Field: "spec.version", Manager: "helm"}
	if got := (options{}).ofOthers([]intent.OwnedField{verb, helm}); !slices.Equal(got, []intent.OwnedField{helm}) {
		t.Errorf("%v", got)
	}
	if got := (options{}).ofOthers([]intent.OwnedField{verb}); len(got) > 0 {
		t.Errorf("%v", got)
	}
}
