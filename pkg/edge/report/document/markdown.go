package document

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

const (
	// limit is what a comment on GitHub may have, in bytes. A job summary may have more.
	limit = 65536
	// longest is how much of a text of servers is shown: some send pages.
	longest = 600
)

// signs show the tone of a run where there are no colours.
var signs = map[report.Tone]string{report.Good: "✅", report.Warning: "⚠️", report.Bad: "❌"}

// markdown writes a section per run: what a person has to do first, then what took how long. What
// makes it longer than a comment may be is left out, and that is said.
func markdown(w io.Writer, runs []history.Run) error {
	var b strings.Builder
	for i, r := range runs {
		head, details := section(r)
		if b.Len()+len(head) > limit-reserve {
			fmt.Fprintf(&b, "_%d more runs are left out, since a comment may have %d bytes._\n", len(runs)-i, limit)
			break
		}
		b.WriteString(head)
		room := limit - reserve - b.Len()
		if len(details) > room {
			details = cut(details, room)
		}
		b.WriteString(details)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// reserve is the room for the sentences that say what is left out.
const reserve = 300

// cut returns as many rows of the details as there is room for.
func cut(details string, room int) string {
	const end = "\n_The rows after this are left out, since a comment is limited; `-o html` has all of them._\n\n</details>\n\n"
	at := strings.LastIndex(details[:max(room-len(end), 0)], "\n")
	if at < 0 || !strings.Contains(details[:at], "| --- |") {
		return "_The steps are left out, since a comment is limited; `-o html` has them._\n\n"
	}
	return details[:at+1] + end
}

// section returns a run, and its steps and waits, which are folded.
func section(r history.Run) (head, details string) {
	var b strings.Builder
	tone, text, next := verdict(r)
	fmt.Fprintf(&b, "### %s %s: %s\n\n", signs[tone], escape(title(r)), escape(text))
	if r.Error != "" {
		fmt.Fprintf(&b, "%s\n\n", escape(r.Error))
	}
	for _, line := range todo(r) {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if len(todo(r)) > 0 {
		b.WriteString("\n")
	}
	advice := remedy.Join(r.Remedy)
	if advice == "" {
		advice = next
	}
	if advice != "" {
		fmt.Fprintf(&b, "**Next:** %s\n\n", escape(advice))
	}
	if len(r.Components) > 0 {
		b.WriteString("| component | ready | updated |\n| --- | --- | --- |\n")
		for _, n := range r.Components {
			fmt.Fprintf(&b, "| %s | %s | %d/%d |\n", escape(component(n.Component)), n.Serving(), n.Updated, n.Wanted)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s: %s.\n\n", took(r.Took()), spent(r))
	writeReasons(&b, r)
	for _, n := range r.Notices {
		fmt.Fprintf(&b, "> %s\n\n", escape(n.Message))
	}
	return b.String(), writeDetails(r)
}

// spent says what a run's time went into.
func spent(r history.Run) string {
	var all []string
	for _, p := range parts(r.Spent) {
		all = append(all, p.Name+" "+p.Took)
	}
	moves := len(r.LeaderMoves())
	return fmt.Sprintf("%s; %d steps, %d failed attempts, %d moves of PD's leader", strings.Join(all, ", "), len(r.Steps), r.FailedAttempts(), moves)
}

// todo returns what is left when a run has ended, with what a person can do.
func todo(r history.Run) []string {
	var lines []string
	for _, s := range unsolved(r) {
		lines = append(lines, fmt.Sprintf("**failed** %s: %s", escape(s.Text), escape(s.Error)))
	}
	for _, w := range remaining(r) {
		line := fmt.Sprintf("**%s** %s (%s)", w.Status, escape(w.Message), took(w.Took()))
		if help := remedy.Join(w.Remedy); help != "" {
			line += "; to unblock: " + escape(help)
		}
		lines = append(lines, line)
	}
	return lines
}

func writeReasons(b *strings.Builder, r history.Run) {
	if len(r.Waits) == 0 {
		return
	}
	b.WriteString("| waited for | times | in all | longest |\n| --- | --- | --- | --- |\n")
	for _, t := range r.Reasons() {
		fmt.Fprintf(b, "| %s | %d | %s | %s, %s |\n", code(t.Reason), t.Times, took(t.Sum),
			took(t.Longest), escape(subject(t.Slowest.Component, t.Slowest.Member, t.Slowest.Object)))
	}
	b.WriteString("\n")
}

// writeDetails returns the steps and the waits by member.
func writeDetails(r history.Run) string {
	if len(r.Steps)+len(r.Waits) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>%d steps and %d waits, by member</summary>\n\n", len(r.Steps), len(r.Waits))
	b.WriteString("| member | at | what | took | result |\n| --- | --- | --- | --- | --- |\n")
	for _, track := range r.Tracks() {
		name := escape(subject(track.Component, track.Member, ""))
		for _, bar := range track.Bars {
			if s := bar.Step; s != nil {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, s.Began.UTC().Format("15:04:05"), escape(s.Text), took(s.Took()), result(*s))
				continue
			}
			w := bar.Wait
			fmt.Fprintf(&b, "| %s | %s | %s: %s | %s | %s |\n", name, w.Began.UTC().Format("15:04:05"), code(w.Reason), escape(w.Message), took(w.Took()), w.Status)
		}
	}
	b.WriteString("\n</details>\n\n")
	return b.String()
}

// marked are the characters that mean something in Markdown, or begin HTML. A name after an @ would
// be told of the comment.
var marked = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "@<!-- -->")

// escape returns text as one line that Markdown shows as it is.
func escape(text string) string {
	runes := []rune(report.Clean(text))
	if len(runes) > longest {
		runes = append(runes[:longest:longest], '…')
	}
	return marked.Replace(string(runes))
}

// code returns the name of a reason as code.
func code(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return escape(name) // it is none of ours
	}
	return "`" + name + "`"
}
