// Command sbom writes the software bill of materials of a program that Go has
// built: the modules that are in it and the sums of their contents, as the
// linker has recorded them in the program itself. What is listed is therefore
// what is linked, not what go.mod would allow.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM VERSION FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(program, version, file string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	bom, err := materials(info, version)
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

// materials returns the bill of materials of a program. It has neither a time
// nor a serial number, so that the same program has the same bill.
func materials(info *buildinfo.BuildInfo, version string) (*cdx.BOM, error) {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: info.Path, Type: cdx.ComponentTypeApplication, Name: info.Path, Version: version,
		PackageURL: packageURL(info.Main.Path, version), Properties: settings(info.Settings),
	}}
	golang := strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{{
		BOMRef: packageURL("std", golang), Type: cdx.ComponentTypeLibrary, Name: "std", Version: golang,
		PackageURL: packageURL("std", golang),
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c, err := component(m)
		if err != nil {
			return nil, err
		}
		components = append(components, c)
	}
	bom.Components = &components
	return bom, nil
}

func component(m *debug.Module) (cdx.Component, error) {
	url := packageURL(m.Path, m.Version)
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url}
	sum, ok := strings.CutPrefix(m.Sum, "h1:")
	if !ok {
		return c, fmt.Errorf("module %s %s has no sum of the kind h1: %q", m.Path, m.Version, m.Sum)
	}
	raw, err := base64.StdEncoding.DecodeString(sum)
	if err != nil {
		return c, fmt.Errorf("module %s %s: %w", m.Path, m.Version, err)
	}
	c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
	return c, nil
}

func packageURL(module, version string) string { return "pkg:golang/" + module + "@" + version }

// settings returns those that say for which platform and how the program was built.
func settings(all []debug.BuildSetting) *[]cdx.Property {
	var kept []cdx.Property
	for _, s := range all {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "-trimpath":
			kept = append(kept, cdx.Property{Name: "build:" + s.Key, Value: s.Value})
		}
	}
	return &kept
}
