// Command gen generates the CustomResourceDefinition of TidbCluster from the API types. It writes compact JSON to
// the file that its argument names.
//
// It does what "controller-gen crd:maxDescLen=0,crdVersions=v1, allowDangerousTypes=true" does. The command has its
// own module, so that no dependency of the command becomes one of the plugin. The versions of Kubernetes' types and
// of the generator are those that tidb-operator v1.6.6 uses. With later ones the schema has more defaults, such as
// an empty service of a gRPC probe. An API server writes such defaults into every TidbCluster that it hands out, and
// pods would restart because of them. Descriptions are left out: they are two thirds of the size, and applying them
// needs more than an annotation can hold.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	_ "github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1" // the types to generate from
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/yaml"
)

const (
	types = "github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	file  = "pingcap.com_tidbclusters.yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(target string) error {
	manifest, err := generate()
	if err != nil {
		return err
	}
	data, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return fmt.Errorf("read the generated manifest: %w", err)
	}
	compact, err := extend(data)
	if err != nil {
		return err
	}
	return os.WriteFile(target, append(compact, '\n'), 0o644)
}

// extend adds status.observedGeneration, which the types do not have, to the schema. Without that field "kubectl
// wait" cannot know that a condition speaks of a spec from before the last change. Clients that have only the types
// drop the field with the status that they write, and then nothing wrong is left.
func extend(manifest []byte) ([]byte, error) {
	var definition map[string]any
	if err := json.Unmarshal(manifest, &definition); err != nil {
		return nil, fmt.Errorf("read the generated manifest: %w", err)
	}
	versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
	if err != nil || len(versions) == 0 {
		return nil, fmt.Errorf("the generated manifest has no versions: %v", err)
	}
	for _, v := range versions {
		field := map[string]any{"type": "integer", "format": "int64"}
		if err := unstructured.SetNestedMap(v.(map[string]any), field,
			"schema", "openAPIV3Schema", "properties", "status", "properties", "observedGeneration"); err != nil {
			return nil, fmt.Errorf("add observedGeneration to the schema: %w", err)
		}
	}
	if err := unstructured.SetNestedSlice(definition, versions, "spec", "versions"); err != nil {
		return nil, fmt.Errorf("add observedGeneration to the schema: %w", err)
	}
	return json.Marshal(definition)
}

// generate returns the manifest of tidbclusters as YAML. The generator makes
// one for each type of the API group; the others are dropped.
func generate() ([]byte, error) {
	none, dangerous := 0, true
	var gen genall.Generator = crd.Generator{
		MaxDescLen:          &none,
		CRDVersions:         []string{"v1"},
		AllowDangerousTypes: &dangerous,
	}
	runtime, err := genall.Generators{&gen}.ForRoots(types)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", types, err)
	}
	out := outputs{}
	runtime.OutputRules.Default = out
	if failed := runtime.Run(); failed {
		return nil, fmt.Errorf("generate from %s: see the messages above", types)
	}
	manifest, ok := out[file]
	if !ok {
		return nil, fmt.Errorf("the generator made no %s", file)
	}
	return manifest.Bytes(), nil
}

// outputs keeps generated files in memory.
type outputs map[string]*bytes.Buffer

func (o outputs) Open(_ *loader.Package, path string) (io.WriteCloser, error) {
	o[path] = &bytes.Buffer{}
	return closer{o[path]}, nil
}

type closer struct{ io.Writer }

func (closer) Close() error { return nil }
