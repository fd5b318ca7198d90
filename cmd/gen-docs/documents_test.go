package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	repository = "../.."
	// width is that of .editorconfig, in characters.
	width = 120
	// generatedPages are held to the commands by TestUpToDate.
	generatedPages = "docs/reference/"
)

var (
	fence    = regexp.MustCompile("^\\s*```")
	span     = regexp.MustCompile("`[^`]+`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`^#+ +(.+)$`)
	noAnchor = regexp.MustCompile(`[^\pL\pN _-]`)
	makes    = regexp.MustCompile(`\bmake ([a-z][a-z0-9-]*)`)
	inTree   = regexp.MustCompile(`(?:^|[\s"(])(?:\./)?((?:pkg|cmd|test|docs)/[\w.*/-]+)`)
	goFile   = regexp.MustCompile(`^[a-z]+/[\w*]+\.go$`)
	running  = regexp.MustCompile(`-run (\S+)`)
	testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// TestDocuments: what the documents point to exists, and they have one width.
func TestDocuments(t *testing.T) {
	targets := makeTargets(t)
	for path, text := range documents(t) {
		for _, w := range wrongIn(path, text, targets) {
			t.Errorf("%s: %s", path, w)
		}
	}
}

// TestWrongDocuments: each kind of mistake is found.
func TestWrongDocuments(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"none": {"# A b-c\n[it](../README.md#test-it), [here](#a-b-c), [there](https://example.com/x)\n" +
			"`make e2e`, `plan/scale.go`, `test/sim/*_test.go`, make sure\n| " + strings.Repeat("wide ", 50) + "|\n" +
			"```\n" + strings.Repeat("wide ", 50) + "\ngo test ./test/sim -run Goldens\n```\n", ""},
		"link":          {"[it](nowhere.md)", "the link nowhere.md leads nowhere"},
		"anchor":        {"[it](../README.md#nowhere)", "the link ../README.md#nowhere names no heading"},
		"own anchor":    {"[it](#nowhere)", "the link #nowhere names no heading"},
		"target":        {"`make nothing`", "make nothing is no target"},
		"target, block": {"```\nmake nothing\n```", "make nothing is no target"},
		"package":       {"`pkg/nothing`", "pkg/nothing does not exist"},
		"file":          {"`plan/nothing.go`", "plan/nothing.go does not exist"},
		"test":          {"`go test ./test/sim -run Nowhere`", "runs no test"},
		"width":         {strings.Repeat("wide ", 25), "a line has 125 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(wrongIn("docs/a.md", tt.text, makeTargets(t)), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestPipeline: the workflow calls targets that exist, and leaves nothing out
// that .ci/run tests.
func TestPipeline(t *testing.T) {
	text, err := os.ReadFile(repository + "/.github/workflows/ci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	targets := makeTargets(t)
	called := map[string]bool{}
	for _, m := range makes.FindAllStringSubmatch(string(text), -1) {
		called[m[1]] = true
		if _, ok := targets[m[1]]; !ok {
			t.Errorf("the workflow calls make %s, which the Makefile does not have", m[1])
		}
	}
	if len(targets["test"]) == 0 {
		t.Error("the Makefile's target test needs nothing")
	}
	for _, part := range targets["test"] {
		if !called[part] {
			t.Errorf("make test runs %s, and the workflow does not", part)
		}
	}
}

// makeTargets are the targets of the Makefile, each with what it needs.
func makeTargets(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(repository + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):([^=].*|)$`).FindAllStringSubmatch(string(text), -1) {
		needs, _, _ := strings.Cut(m[2], "##")
		targets[m[1]] = strings.Fields(needs)
	}
	return targets
}

// documents are the texts of all documents by their paths.
func documents(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		found[filepath.ToSlash(strings.TrimPrefix(path, repository+"/"))] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// document is one of them, taken apart.
type document struct {
	path  string
	prose []string // lines, without blocks of code
	code  []string // lines of blocks, and spans
}

// wrongIn returns what is wrong in a document.
func wrongIn(path, text string, targets map[string][]string) []string {
	d := read(path, text)
	wrong := d.links()
	if strings.HasPrefix(path, generatedPages) {
		return wrong
	}
	wrong = append(wrong, d.commands(targets)...)
	wrong = append(wrong, d.paths()...)
	return append(wrong, d.wide()...)
}

func read(path, text string) document {
	d := document{path: path}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case fence.MatchString(line):
			fenced = !fenced
		case fenced || strings.HasPrefix(line, "    "):
			d.code = append(d.code, line)
		default:
			d.prose = append(d.prose, line)
			for _, s := range span.FindAllString(line, -1) {
				d.code = append(d.code, strings.Trim(s, "`"))
			}
		}
	}
	return d
}

// links returns relative links without a target.
func (d document) links() []string {
	var wrong []string
	for _, line := range d.prose {
		for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(line, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := d
			if file != "" {
				at := filepath.Join(repository, filepath.Dir(d.path), file)
				if _, err := os.Stat(at); err != nil {
					wrong = append(wrong, fmt.Sprintf("the link %s leads nowhere", m[1]))
					continue
				}
				text, _ := os.ReadFile(at) // none of a directory
				target = read(file, string(text))
			}
			if anchor != "" && !target.hasAnchor(anchor) {
				wrong = append(wrong, fmt.Sprintf("the link %s names no heading", m[1]))
			}
		}
	}
	return wrong
}

// hasAnchor reports whether there is a heading of which GitHub makes the anchor.
func (d document) hasAnchor(anchor string) bool {
	for _, line := range d.prose {
		if m := heading.FindStringSubmatch(line); m != nil {
			name := noAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
			if strings.ReplaceAll(name, " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}

// commands returns the targets of make and the tests in commands that do not exist.
func (d document) commands(targets map[string][]string) []string {
	var wrong []string
	for _, code := range d.code {
		for _, m := range makes.FindAllStringSubmatch(code, -1) {
			if _, ok := targets[m[1]]; !ok {
				wrong = append(wrong, fmt.Sprintf("make %s is no target of the Makefile", m[1]))
			}
		}
		if strings.Contains(code, "go test ") && !matchesTest(code) {
			wrong = append(wrong, fmt.Sprintf("%q runs no test", code))
		}
	}
	return wrong
}

// matchesTest reports whether the packages that a command with "go test" names
// have a test that its -run selects.
func matchesTest(command string) bool {
	run := running.FindStringSubmatch(command)
	if run == nil || run[1] == "-" {
		return true
	}
	selected, err := regexp.Compile(run[1])
	if err != nil {
		return false
	}
	for _, dir := range inTree.FindAllStringSubmatch(command, -1) {
		files, _ := filepath.Glob(filepath.Join(repository, dir[1], "*_test.go"))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			for _, m := range testName.FindAllSubmatch(text, -1) {
				if selected.Match(m[1]) {
					return true
				}
			}
		}
	}
	return false
}

// paths returns the named files and packages that do not exist.
func (d document) paths() []string {
	var wrong []string
	for _, code := range d.code {
		// A file by the name of its package, as "plan/scale.go".
		if near := filepath.Join(filepath.Dir(d.path), code); goFile.MatchString(code) &&
			!exists("pkg/"+code) && !exists("pkg/*/"+code) && !exists(near) {
			wrong = append(wrong, code+" does not exist")
		}
		for _, m := range inTree.FindAllStringSubmatch(code, -1) {
			path := strings.TrimRight(strings.TrimSuffix(m[1], "..."), "./")
			if !exists(path) {
				wrong = append(wrong, fmt.Sprintf("%s does not exist", m[1]))
			}
		}
	}
	return wrong
}

// exists reports whether the repository has a file or a directory that matches a pattern.
func exists(pattern string) bool {
	found, err := filepath.Glob(filepath.Join(repository, pattern))
	return err == nil && len(found) > 0
}

// wide returns the lines that are too long. Tables cannot be broken.
func (d document) wide() []string {
	var wrong []string
	for _, line := range d.prose {
		if n := utf8.RuneCountInString(line); n > width && !strings.HasPrefix(line, "|") && strings.Contains(line, " ") {
			wrong = append(wrong, fmt.Sprintf("a line has %d characters, at most %d: %s", n, width, line))
		}
	}
	return wrong
}

// TestReadmeIsShort: the README is read in one go, and has the commands with which a newcomer begins.
func TestReadmeIsShort(t *testing.T) {
	const longest = 150
	text := documents(t)["README.md"]
	if n := strings.Count(text, "\n"); n > longest {
		t.Errorf("README.md has %d lines, at most %d: write it in docs, and link it", n, longest)
	}
	for _, command := range []string{"make try", "make demo", "make test"} {
		if !strings.Contains(text, "\n"+command+"\n") {
			t.Errorf("README.md has no line %q to paste", command)
		}
	}
}
