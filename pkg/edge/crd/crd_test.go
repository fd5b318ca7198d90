package crd

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func version(t *testing.T) map[string]any {
	t.Helper()
	definition, err := TidbClusters()
	if err != nil {
		t.Fatal(err)
	}
	versions, found, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil || !found || len(versions) != 1 {
		t.Fatalf("versions: %v, %v, %v", versions, found, err)
	}
	return versions[0].(map[string]any)
}

func TestIdentity(t *testing.T) {
	definition, err := TidbClusters()
	if err != nil {
		t.Fatal(err)
	}
	if got := definition.GetAPIVersion() + " " + definition.GetKind() + " " + definition.GetName(); got != "apiextensions.k8s.io/v1 CustomResourceDefinition tidbclusters.pingcap.com" {
		t.Errorf("the definition is %s", got)
	}
	if scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope"); scope != "Namespaced" {
		t.Errorf("scope is %s", scope)
	}
	if short, _, _ := unstructured.NestedStringSlice(definition.Object, "spec", "names", "shortNames"); !slices.Equal(short, []string{"tc"}) {
		t.Errorf("short names are %v", short)
	}
}

// With a status subresource the API server would drop the status that operators write together with
// the spec.
func TestStatusIsNoSubresource(t *testing.T) {
	if sub := version(t)["subresources"]; len(sub.(map[string]any)) != 0 {
		t.Errorf("subresources: %v", sub)
	}
}

func TestPrinterColumns(t *testing.T) {
	var names []string
	for _, column := range version(t)["additionalPrinterColumns"].([]any) {
		names = append(names, column.(map[string]any)["name"].(string))
	}
	want := []string{
		"Ready", "PD", "Storage", "Ready", "Desire", "TiKV", "Storage", "Ready", "Desire",
		"TiDB", "Ready", "Desire", "Status", "Age",
	}
	if !slices.Equal(names, want) {
		t.Errorf("columns are %v, want %v", names, want)
	}
}

// An API server writes the defaults of the definition into every TidbCluster. A default that the
// operator's own definition does not have would restart the pods of a cluster that is taken over.
func TestDefaults(t *testing.T) {
	operators := map[string][]any{
		"baseImage": {
			"pingcap/pd", "pingcap/tikv", "pingcap/tidb", "pingcap/tiflash", "pingcap/ticdc", "pingcap/tiproxy", "pingcap/tidb-binlog",
		},
		"imagePullPolicy":     {"IfNotPresent"},
		"initWaitTime":        {int64(0)},
		"maxSkew":             {int64(1)},
		"protocol":            {"TCP"},
		"pvReclaimPolicy":     {"Retain"},
		"scaleInParallelism":  {int64(1)},
		"scaleOutParallelism": {int64(1)},
		"startTimeout":        {int64(30)},
	}
	found := 0
	var walk func(path string, schema any)
	walk = func(path string, schema any) {
		switch s := schema.(type) {
		case map[string]any:
			if value, ok := s["default"]; ok && !strings.HasSuffix(path, ".properties") {
				found++
				if name := path[strings.LastIndex(path, ".")+1:]; !slices.Contains(operators[name], value) {
					t.Errorf("%s has the default %#v", path, value)
				}
			}
			for name, sub := range s {
				walk(path+"."+name, sub)
			}
		case []any:
			for _, sub := range s {
				walk(path, sub)
			}
		}
	}
	walk("", version(t)["schema"])
	if found != 48 {
		t.Errorf("%d defaults, the operator's definition has 48", found)
	}
}

// Unknown keys of a component's configuration must be kept: the schema does not describe it.
func TestSchema(t *testing.T) {
	schema := version(t)["schema"].(map[string]any)
	at := func(path ...string) map[string]any {
		fields := []string{"openAPIV3Schema", "properties", "spec"}
		for _, p := range path {
			fields = append(fields, "properties", p)
		}
		found, ok, err := unstructured.NestedMap(schema, fields...)
		if err != nil || !ok {
			t.Fatalf("schema of %v: %v", path, err)
		}
		return found
	}
	for _, component := range []string{"pd", "tikv", "tidb"} {
		config := at(component, "config")
		if config["x-kubernetes-preserve-unknown-fields"] != true {
			t.Errorf("config of %s is %v", component, config)
		}
	}
	if got := at("pd", "baseImage")["default"]; got != "pingcap/pd" {
		t.Errorf("default image of PD is %v", got)
	}
	if got, _, _ := unstructured.NestedString(schema, "openAPIV3Schema", "properties", "status", "properties", "observedGeneration", "type"); got != "integer" {
		t.Errorf("observedGeneration of the status is %q", got)
	}
	if _, described := at("pd", "replicas")["description"]; described {
		t.Error("the schema has descriptions")
	}
}

// TestBackups: a Backup is made together with its status, which an API server drops where the status is a subresource.
func TestBackups(t *testing.T) {
	definition, err := Backups()
	if err != nil {
		t.Fatal(err)
	}
	if got := definition.GetKind() + " " + definition.GetName(); got != "CustomResourceDefinition backups.pingcap.com" {
		t.Errorf("the definition is %s", got)
	}
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("versions: %v, %v", versions, err)
	}
	v := versions[0].(map[string]any)
	if sub := v["subresources"]; len(sub.(map[string]any)) != 0 {
		t.Errorf("subresources: %v", sub)
	}
	for _, path := range []string{"status.commitTs", "status.backupSize", "status.conditions", "spec.s3", "spec.br", "spec.toolImage"} {
		fields := []string{"schema", "openAPIV3Schema"}
		for _, p := range strings.Split(path, ".") {
			fields = append(fields, "properties", p)
		}
		if _, found, _ := unstructured.NestedMap(v, fields...); !found {
			t.Errorf("the schema has no %s", path)
		}
	}
}
