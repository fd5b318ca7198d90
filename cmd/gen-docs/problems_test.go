package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	tableRow = regexp.MustCompile(`^\| (\S+) \| (.+) \| (.+) \| (.+) \|$`)
	rowID    = regexp.MustCompile(`^(pd-[AB]|tikv-11-|tidb-[SB])[0-9]`)
	cited    = regexp.MustCompile("`((?:pkg|test)/[^`]+_test\\.go)`: `(Test\\w+)(?:/([^`]+))?`")
	rowStart = regexp.MustCompile(`^\| *(pd-[AB]|tikv-11-|tidb-[SB])[0-9]`)
	sentence = regexp.MustCompile("^[A-Z`].*\\.$")
	refused  = regexp.MustCompile("^refused: `[^`]+`; ")
	literal  = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`)
	// named is how tests are named by rows: pd-A3, or tidb-S7, S8, B12.
	named = regexp.MustCompile(`(pd-|tikv-11-|tidb-)([ABS]?[0-9]+a?)((?:, [ABS]?[0-9]+a?)*)`)
	part  = regexp.MustCompile(`[ABS]?[0-9]+a?`)
)

// knownProblems are the rows that there are.
func knownProblems() []string {
	rows := []string{"tidb-B3a"}
	for _, list := range []struct {
		name string
		n    int
	}{{"pd-A", 20}, {"pd-B", 31}, {"tikv-11-", 47}, {"tidb-S", 21}, {"tidb-B", 38}} {
		for n := range list.n {
			rows = append(rows, fmt.Sprintf("%s%d", list.name, n+1))
		}
	}
	return rows
}

// TestKnownProblems: each row of the users' page has tests on the developers' page, and these tests exist.
func TestKnownProblems(t *testing.T) {
	pages := documents(t)
	page := joined(pages["docs/known-problems.md"], pages["docs/tested.md"])
	files := map[string]string{}
	for _, dir := range []string{"pkg", "test"} {
		err := filepath.WalkDir("../../"+dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			files[filepath.ToSlash(strings.TrimPrefix(path, "../../"))] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range mistakes(page, files) {
		t.Error("docs/known-problems.md, docs/tested.md: " + p)
	}
}

// joined returns the table of the users' page with the tests of the developers' page as the last column. A row that
// only one page has stays as it is, so that it cannot be read as a row of four columns.
func joined(page, tested string) string {
	tests, rest := map[string]string{}, ""
	for line := range strings.Lines(tested) {
		key, cell, found := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if _, twice := tests[key]; rowStart.MatchString(line) && found && !twice {
			tests[key] = cell
		} else {
			rest += line
		}
	}
	var table strings.Builder
	for line := range strings.Lines(page) {
		key, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if cell := tests[key]; cell != "" {
			line = strings.TrimSuffix(strings.TrimSpace(line), "|") + "| " + cell
			delete(tests, key)
		}
		table.WriteString(line)
	}
	for key, cell := range tests {
		table.WriteString("| " + key + " | " + cell)
	}
	return table.String() + rest
}

// TestJoined: two pages give one table, and a row that only one of them has is a mistake.
func TestJoined(t *testing.T) {
	const row, cell = "| pd-A1 | It waits. | It goes on. |\n", "| pd-A1 | not covered: c |\n"
	for name, tt := range map[string]struct{ page, tested, want string }{
		"both":        {row, cell, "| pd-A1 | It waits. | It goes on. | not covered: c |\n"},
		"only users":  {row, "", row},
		"only tests":  {"", cell, cell},
		"tests twice": {row, cell + cell, "| pd-A1 | It waits. | It goes on. | not covered: c |\n" + cell},
		"a rule":      {row, "| a rule | why | more | tests |\n", row + "| a rule | why | more | tests |\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := joined(tt.page, tt.tested)
			if got != tt.want {
				t.Errorf("got %q, wanted %q", got, tt.want)
			}
			unread := strings.Contains(strings.Join(mistakes(got, nil), "\n"), "a row that cannot be read")
			if wanted := name != "both"; unread != wanted {
				t.Errorf("a row that cannot be read was reported: %t, wanted %t", unread, wanted)
			}
		})
	}
}

// askRow matches a row of an ask of users, on either page.
var askRow = regexp.MustCompile(`(?m)^\| (U[0-9]+) \|`)

// TestUsersAsks: the developers' page has the tests of the same asks as the users' page.
func TestUsersAsks(t *testing.T) {
	pages := documents(t)
	asks := askRow.FindAllString(pages["docs/users-asks.md"], -1)
	tested := askRow.FindAllString(pages["docs/tested.md"], -1)
	if len(asks) < 50 || !slices.Equal(asks, tested) {
		t.Errorf("docs/users-asks.md has %q, docs/tested.md has %q", asks, tested)
	}
}

// developers are the pages that may name tests. All others in docs are for users.
var developers = regexp.MustCompile(`^docs/(adr/.*|testing|tested|architecture)\.md$`)

// TestUsersPagesNameNoTests: what a user reads says what happens, and not by which test that is known.
func TestUsersPagesNameNoTests(t *testing.T) {
	for path, text := range documents(t) {
		user := path == "README.md" || strings.HasPrefix(path, "docs/") && !developers.MatchString(path)
		if user && strings.Contains(text, "_test.go") {
			t.Errorf("%s names a file of tests: write that on docs/tested.md", path)
		}
	}
}

// mistakes compares the table with the test files, by their paths.
func mistakes(page string, files map[string]string) []string {
	var found []string
	shown := map[string]string{} // what the last column says of each row
	for line := range strings.Lines(page) {
		cells := tableRow.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case cells == nil && rowStart.MatchString(line):
			found = append(found, "a row that cannot be read: "+line)
		case cells == nil || !rowID.MatchString(cells[1]):
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
			found = append(found, absent(name, line, files)...)
		case shown[cells[1]] != "":
			found = append(found, cells[1]+" is there twice")
		default:
			shown[cells[1]] = cells[4]
			found = append(found, unproven(cells[1], cells[4], files)...)
			// The names of rows are keys; what they mean a reader finds only here.
			if !sentence.MatchString(cells[2]) || !sentence.MatchString(cells[3]) {
				found = append(found, cells[1]+" does not say in sentences what goes wrong and what is done here")
			}
		}
	}
	known := map[string]bool{}
	for _, row := range knownProblems() {
		known[row] = true
		if shown[row] == "" {
			found = append(found, row+" is missing")
		}
	}
	for row := range shown {
		if !known[row] {
			found = append(found, row+" is no row")
		}
	}
	for path, text := range files {
		for _, row := range rowsIn(text) {
			if !known[row] || strings.HasPrefix(shown[row], "not covered") {
				found = append(found, fmt.Sprintf("%s names %s, and the table says %q", path, row, shown[row]))
			}
		}
	}
	return found
}

// unproven returns the tests of a row that do not exist.
func unproven(row, cell string, files map[string]string) []string {
	if reason, ok := strings.CutPrefix(cell, "not covered: "); ok && !cited.MatchString(reason) {
		return nil
	}
	var found []string
	rest := refused.ReplaceAllString(cell, "")
	if left := strings.ReplaceAll(cited.ReplaceAllString(rest, ""), "; ", ""); left != "" || rest == "" {
		found = append(found, fmt.Sprintf("%s: not a list of tests: %q", row, cell))
	}
	return append(found, absent(row, rest, files)...)
}

// absent returns the tests in a text that do not exist.
func absent(row, text string, files map[string]string) []string {
	var found []string
	for _, test := range cited.FindAllStringSubmatch(text, -1) {
		body, ok := function(files[test[1]], test[2])
		if !ok {
			found = append(found, fmt.Sprintf("%s: %s has no %s", row, test[1], test[2]))
		} else if test[3] != "" && !hasName(body, test[3]) {
			found = append(found, fmt.Sprintf("%s: %s of %s has no %q", row, test[2], test[1], test[3]))
		}
	}
	return found
}

// function is the text of a function.
func function(file, name string) (string, bool) {
	_, text, ok := strings.Cut(file, "\nfunc "+name+"(")
	if line, _, _ := strings.Cut(text, "\n"); strings.HasSuffix(line, "}") {
		return line, ok
	}
	body, _, _ := strings.Cut(text, "\n}\n")
	return body, ok
}

// hasName reports whether a text in quotes contains a name: pd-B1 is not in pd-B10.
func hasName(body, name string) bool {
	whole := regexp.MustCompile(regexp.QuoteMeta(name) + `(?:[^0-9a]|$)`)
	for _, text := range literal.FindAllString(body, -1) {
		if whole.MatchString(strings.Trim(text, `"`)) {
			return true
		}
	}
	return false
}

// rowsIn are the rows in texts in quotes.
func rowsIn(file string) []string {
	var rows []string
	for _, text := range literal.FindAllString(file, -1) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if !rowID.MatchString(m[1] + m[2]) {
				continue // a pod, perhaps
			}
			for _, n := range append([]string{m[2]}, part.FindAllString(m[3], -1)...) {
				rows = append(rows, m[1]+n)
			}
		}
	}
	return rows
}

// TestMistakes: each kind of them is found.
func TestMistakes(t *testing.T) {
	const proof = "`pkg/a/a_test.go`: `TestA/pd-A1`"
	files := map[string]string{"pkg/a/a_test.go": `package a

func TestA(t *testing.T) {
	t.Run("pd-A1: is better", better)
	t.Run("tidb-S7, S8: are, too", "basic-pd-0", better)
}

func TestB(t *testing.T) { t.Run("pd-A10", better) }
`}
	for name, tt := range map[string]struct{ row, cell, more, want string }{
		"none":                 {"pd-A1", proof, "", ""},
		"none, refused":        {"pd-A1", "refused: `spec.a`; " + proof, "", ""},
		"none, whole function": {"pd-A2", "`pkg/a/a_test.go`: `TestA`; " + proof, "", ""},
		"missing":              {"pd-A2", "", "", "pd-A2 is missing"},
		"twice":                {"pd-A2", proof, "| pd-A2 | a | b | " + proof + " |", "pd-A2 is there twice"},
		"unknown":              {"pd-A2", proof, "| pd-A21 | a | b | " + proof + " |", "pd-A21 is no row"},
		"malformed":            {"pd-A2", proof, "| pd-A2 | " + proof + " |", "a row that cannot be read"},
		"no file":              {"pd-A2", "`pkg/b/a_test.go`: `TestA`", "", "pd-A2: pkg/b/a_test.go has no TestA"},
		"no function":          {"pd-A2", "`pkg/a/a_test.go`: `Test`", "", "not a list of tests"},
		"another function":     {"pd-A2", "`pkg/a/a_test.go`: `TestC`", "", "has no TestC"},
		"no subtest":           {"pd-A2", "`pkg/a/a_test.go`: `TestA/pd-A2`", "", `has no "pd-A2"`},
		"subtest of another":   {"pd-A2", "`pkg/a/a_test.go`: `TestB/pd-A1`", "", `has no "pd-A1"`},
		"no test":              {"pd-A2", "refused: `spec.a`; ", "", "not a list of tests"},
		"no sentence":          {"pd-A2", "", "| pd-A2 | It waits. | nothing | " + proof + " |", "pd-A2 does not say in sentences"},
		"a rule, no test":      {"pd-A1", proof, "| a rule | why | `pkg/a/a_test.go`: `TestC` |", "a rule: pkg/a/a_test.go has no TestC"},
		"words":                {"pd-A2", "surely", "", "not a list of tests"},
		"named, not covered":   {"tidb-S8", "not covered: no", "", "names tidb-S8"},
	} {
		t.Run(name, func(t *testing.T) {
			cells := map[string]string{"pd-A1": proof, "tidb-S7": proof, "tidb-S8": proof, "pd-A10": proof, tt.row: tt.cell}
			page := tt.more + "\n"
			for _, row := range knownProblems() {
				if cell, ok := cells[row]; !ok {
					page += "| " + row + " | It waits. | It goes on. | not covered: c |\n"
				} else if cell != "" {
					page += "| " + row + " | It waits. | It goes on. | " + cell + " |\n"
				}
			}
			got := strings.Join(mistakes(page, files), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
