package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// result is what became of all mutants that were tested.
type result struct {
	mutants  []Mutant
	verdicts []Verdict
	allowed  Allowed
	stale    []string
}

// gone is the title of explanations of nothing.
const gone = "explained, but there are no such mutants any more:"

// tally counts the mutants of a package.
type tally struct {
	mutants, killed, explained, survived, notCompiling int
}

func (t *tally) count(v Verdict, explained bool) {
	t.mutants++
	switch {
	case v == NotCompiling:
		t.notCompiling++
	case v == Killed:
		t.killed++
	case explained:
		t.explained++
	default:
		t.survived++
	}
}

// percent is how many of the mutants that a test could kill were killed.
func (t *tally) percent() float64 {
	if t.killed+t.survived == 0 {
		return 100
	}
	return 100 * float64(t.killed) / float64(t.killed+t.survived)
}

// report prints the results and reports whether enough mutants are killed.
func report(out io.Writer, r result, least float64) bool {
	per, sum := map[string]*tally{}, &tally{}
	var survivors, needless []string
	for i, m := range r.mutants {
		t := per[m.Package()]
		if t == nil {
			t = &tally{}
			per[m.Package()] = t
		}
		_, explained := r.allowed[m.Key]
		t.count(r.verdicts[i], explained)
		sum.count(r.verdicts[i], explained)
		switch {
		case r.verdicts[i] == Survived && !explained:
			survivors = append(survivors, fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Key))
		case r.verdicts[i] != Survived && explained:
			needless = append(needless, m.Key)
		}
	}
	table(out, per, sum)
	list(out, "survived:", survivors)
	list(out, "explained as survivors, but killed or not compiling:", needless)
	list(out, gone, r.stale)
	ok := sum.percent() >= least
	if !ok {
		fmt.Fprintf(out, "\n%.1f %% killed, %.1f %% wanted\n", sum.percent(), least)
	}
	return ok && len(needless) == 0 && len(r.stale) == 0
}

func table(out io.Writer, per map[string]*tally, sum *tally) {
	var names []string
	for name := range per {
		names = append(names, name)
	}
	slices.Sort(names)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "package\tmutants\tkilled\tsurvived\texplained\tnot compiling\tkilled %\t")
	row := func(name string, t *tally) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n",
			name, t.mutants, t.killed, t.survived, t.explained, t.notCompiling, t.percent())
	}
	for _, name := range names {
		row(name, per[name])
	}
	row("all", sum)
	_ = w.Flush()
}

func list(out io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	slices.Sort(lines)
	fmt.Fprintf(out, "\n%s\n  %s\n", title, strings.Join(lines, "\n  "))
}

// matching are the mutants whose key matches a regular expression.
func matching(all []Mutant, only *regexp.Regexp) []Mutant {
	var out []Mutant
	for _, m := range all {
		if only.MatchString(m.Key) {
			out = append(out, m)
		}
	}
	return out
}
