// Command notices writes the licences of all modules that are linked into the program, on any platform of a release.
// Most licences require that a copy of their text comes with the program.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: notices REPOSITORY PACKAGE FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func write(root, program, file string) error {
	found, err := modules(root, program)
	if err != nil {
		return err
	}
	text, err := notices(found)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// systems are those that a release has programs for. Which modules are linked depends on the system alone.
var systems = []string{"linux", "darwin", "windows"}

// module is one that is linked, with the folder that has its files.
type module struct{ name, dir string }

// modules returns the modules that a program has on any of the systems, and Go itself, by their names.
func modules(root, program string) ([]module, error) {
	all := map[string]module{}
	for _, system := range systems {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", program)
		cmd.Dir, cmd.Stderr = root, os.Stderr
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages of %s for %s: %w", program, system, err)
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				all[name] = module{name, dir}
			}
		}
	}
	out, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	name := "The standard library of Go " + version
	all[name] = module{name, dir}
	return slices.SortedFunc(maps.Values(all), func(a, b module) int { return strings.Compare(a.name, b.name) }), nil
}

// notice matches the names of files that have to be passed on.
var notice = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents)([-._].*)?$`)

// notices returns the texts of modules. Modules with the same text are named before it together.
func notices(all []module) ([]byte, error) {
	named := map[string][]string{} // modules, by their text
	var missing []error
	for _, m := range all {
		text, err := textOf(m)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		named[text] = append(named[text], m.name)
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	var b bytes.Buffer
	fmt.Fprint(&b, "kubectl-tidb is made with the modules below. Each of them has the licence that follows its name.\n")
	for _, text := range slices.SortedFunc(maps.Keys(named), func(a, b string) int { return strings.Compare(named[a][0], named[b][0]) }) {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(named[text], "\n"), text)
	}
	return b.Bytes(), nil
}

// textOf returns what the folder of a module has to be passed on. A module without such a file is an error, because
// nobody would have said that it may be passed on at all.
func textOf(m module) (string, error) {
	files, err := os.ReadDir(m.dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	var texts []string
	for _, f := range files {
		if f.IsDir() || !notice.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.dir, f.Name()))
		if err != nil {
			return "", fmt.Errorf("%s: %w", m.name, err)
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("%s: no licence in %s", m.name, m.dir)
	}
	return strings.Join(texts, "\n\n"), nil
}
