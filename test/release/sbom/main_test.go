package main

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// TestWrite makes the bill of this test's own program, which Go has built as well.
func TestWrite(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "test.cdx.json")
	if err := write(program, "v1.2.3", file); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(in, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if c := bom.Metadata.Component; c.Version != "v1.2.3" || !strings.Contains(c.Name, "release/sbom") {
		t.Errorf("the program is %+v", c)
	}
	listed := map[string]cdx.Component{}
	for _, c := range *bom.Components {
		listed[c.Name] = c
	}
	if c, ok := listed["std"]; !ok || c.Version == "" {
		t.Errorf("the standard library is %+v", c)
	}
	c := listed["github.com/CycloneDX/cyclonedx-go"]
	if c.PackageURL != "pkg:golang/github.com/CycloneDX/cyclonedx-go@"+c.Version || c.Hashes == nil || len((*c.Hashes)[0].Value) != 64 {
		t.Errorf("a module is %+v", c)
	}
	if _, ok := listed["github.com/goreleaser/goreleaser/v2"]; ok {
		t.Error("a module of go.mod is listed that is not linked")
	}
}

func TestNoSum(t *testing.T) {
	info := &buildinfo.BuildInfo{Deps: []*debug.Module{{Path: "example.com/local", Version: "(devel)"}}}
	if _, err := materials(info, "v1.2.3"); err == nil || !strings.Contains(err.Error(), "example.com/local") {
		t.Errorf("a module without a sum: %v", err)
	}
}

func TestNoProgram(t *testing.T) {
	if err := write("main.go", "v1.2.3", filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("a text is taken for a program")
	}
}
