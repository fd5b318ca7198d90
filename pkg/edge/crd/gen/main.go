// Command gen generates the CustomResourceDefinitions of TidbCluster and Backup from the API types. It writes
// compressed JSON to the folder that its argument names, a file for each.
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
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	_ "github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1" // the types to generate from
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/yaml"
)

const (
	types = "github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	// clusters and backups are the resources whose definitions are kept.
	clusters = "tidbclusters"
	backups  = "backups"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	made, err := generate()
	if err != nil {
		return err
	}
	for _, resource := range []string{clusters, backups} {
		manifest, ok := made["pingcap.com_"+resource+".yaml"]
		if !ok {
			return fmt.Errorf("the generator made no definition of %s", resource)
		}
		data, err := yaml.YAMLToJSON(manifest.Bytes())
		if err != nil {
			return fmt.Errorf("read the generated manifest: %w", err)
		}
		compact, err := written(resource, data)
		if err != nil {
			return err
		}
		compressed, err := compress(append(compact, '\n'))
		if err != nil {
			return fmt.Errorf("compress the definition of %s: %w", resource, err)
		}
		if err := os.WriteFile(filepath.Join(folder, resource+".json.gz"), compressed, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compress returns the same bytes for the same text, because the header names no file and no time. Another version of Go
// may compress the text in another way.
func compress(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// written returns a definition as compact JSON.
func written(resource string, data []byte) ([]byte, error) {
	if resource == clusters {
		return extend(data)
	}
	var definition map[string]any
	if err := json.Unmarshal(data, &definition); err != nil {
		return nil, fmt.Errorf("read the generated manifest: %w", err)
	}
	return json.Marshal(definition)
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

// generate returns the manifests of all types of the API group as YAML, by their file names.
func generate() (outputs, error) {
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
	return out, nil
}

// outputs keeps generated files in memory.
type outputs map[string]*bytes.Buffer

func (o outputs) Open(_ *loader.Package, path string) (io.WriteCloser, error) {
	o[path] = &bytes.Buffer{}
	return closer{o[path]}, nil
}

type closer struct{ io.Writer }

func (closer) Close() error { return nil }
