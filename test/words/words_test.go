package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// alone are words that name no function: a call such as free(m) does not say what is asked or done. With a package or a
// type before it, as in ask.Within, such a word can be enough.
var alone = strings.Fields(`of at in on and by or as to for from with without within since until after before between above below
	behind over under again still back there elsewhere together apart away off up down out near per first last next same other own
	old new whole free alone kept counted known unknown given left late ready closed`)

// source is one file of the program without its tests.
type source struct {
	name string
	fset *token.FileSet
	file *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, root := range []string{"../../pkg", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			s := source{name: path, fset: token.NewFileSet()}
			s.file, err = parser.ParseFile(s.fset, path, nil, parser.ParseComments)
			all = append(all, s)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 500 {
		t.Fatalf("only %d files found", len(all))
	}
	return all
}

// TestNamesOfFunctions: no function is called by a preposition, an adverb or an adjective alone.
func TestNamesOfFunctions(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && slices.Contains(alone, f.Name.Name) {
				t.Errorf("%s: the name %q does not say what the function returns or does", s.fset.Position(f.Pos()), f.Name.Name)
			}
		}
	}
}

// The most words, and the most pronouns, of a sentence in a comment.
const (
	mostWords    = 25
	mostPronouns = 2
)

var (
	ends     = regexp.MustCompile(`[.!?]\s+`)
	pronouns = regexp.MustCompile(`(?i)\b(it|its|they|them|their|that one|those|others|these|one)\b`)
)

// TestSentences: comments are short sentences that name what they are about.
func TestSentences(t *testing.T) {
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, sentence := range sentences(group.Text()) {
				at := s.fset.Position(group.Pos())
				if n := len(strings.Fields(sentence)); n > mostWords {
					t.Errorf("%s: %d words, at most %d: %s", at, n, mostWords, sentence)
				}
				if n := len(pronouns.FindAllString(sentence, -1)); n > mostPronouns {
					t.Errorf("%s: %d pronouns, at most %d: %s", at, n, mostPronouns, sentence)
				}
			}
		}
	}
}

// sentences returns the sentences of a comment, without lists and examples, which are indented.
func sentences(comment string) []string {
	var all []string
	for paragraph := range strings.SplitSeq(comment, "\n\n") {
		lines := strings.Split(paragraph, "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "\t") || strings.HasPrefix(l, "  ") })
		text := strings.Join(lines, " ")
		for {
			at := ends.FindStringIndex(text)
			if at == nil {
				break
			}
			all, text = append(all, text[:at[0]+1]), text[at[1]:]
		}
		all = append(all, text)
	}
	return all
}
