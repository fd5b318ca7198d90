// Command manifest writes the plugin's manifest for krew of one release: a
// manifest with that version, and with the sums of that release's archives.
// Everything else, such as the texts, stays as it is.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func main() {
	from := flag.String("from", "", "the manifest to take everything else from")
	checksums := flag.String("checksums", "", "the release's list of sums and names")
	version := flag.String("version", "", "the release's version, such as v1.2.3")
	to := flag.String("o", "", "the file to write")
	only := flag.String("only", "", "leave out all platforms but one, such as linux/amd64")
	flag.Parse()
	if err := run(*from, *checksums, *version, *to, *only); err != nil {
		fmt.Fprintln(os.Stderr, "manifest:", err)
		os.Exit(1)
	}
}

func run(from, checksums, version, to, only string) error {
	manifest, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	list, err := os.ReadFile(checksums)
	if err != nil {
		return err
	}
	sums, err := read(list)
	if err != nil {
		return fmt.Errorf("read %s: %w", checksums, err)
	}
	out, err := fill(manifest, sums, version, only)
	if err != nil {
		return fmt.Errorf("fill %s: %w", from, err)
	}
	return os.WriteFile(to, out, 0o644)
}

// read returns the sums in a list by the names of their files.
func read(list []byte) (map[string]string, error) {
	sums := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(list))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 || len(fields[0]) != 64 {
			return nil, fmt.Errorf("%q is not a SHA-256 sum and a name", lines.Text())
		}
		sums[fields[1]] = fields[0]
	}
	return sums, lines.Err()
}

// fill returns the manifest with another version, and with the sums of that
// version's archives.
func fill(manifest []byte, sums map[string]string, version, only string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(manifest, &document); err != nil {
		return nil, err
	}
	spec := field(&document, "spec")
	old, platforms := field(spec, "version"), field(spec, "platforms")
	if old == nil || old.Value == "" || platforms == nil {
		return nil, fmt.Errorf("there is no version, or there are no platforms")
	}
	if only != "" {
		platforms.Content = slices.DeleteFunc(platforms.Content, func(p *yaml.Node) bool { return name(p) != only })
	}
	for _, p := range platforms.Content {
		uri, sum := field(p, "uri"), field(p, "sha256")
		if uri == nil || sum == nil || !strings.Contains(uri.Value, old.Value) {
			return nil, fmt.Errorf("platform %s has no uri with version %s, or no sha256", name(p), old.Value)
		}
		uri.Value = strings.ReplaceAll(uri.Value, old.Value, version)
		sum.Value = sums[path.Base(uri.Value)]
		if sum.Value == "" {
			return nil, fmt.Errorf("the release has no archive %s", path.Base(uri.Value))
		}
	}
	old.Value = version
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// name returns a platform's name, such as linux/amd64.
func name(platform *yaml.Node) string {
	labels := field(field(platform, "selector"), "matchLabels")
	if os, arch := field(labels, "os"), field(labels, "arch"); os != nil && arch != nil {
		return os.Value + "/" + arch.Value
	}
	return ""
}

// field returns the value of a mapping's field, nil if it has none.
func field(n *yaml.Node, name string) *yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.DocumentNode {
		return field(n.Content[0], name)
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
