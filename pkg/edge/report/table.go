package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Table writes rows as kubectl does. There are no borders; cells are left-aligned, headers are in upper case, three
// spaces are between columns, and an empty cell is "<none>". Nothing is wrapped or cut, so that grep and awk can
// read it. In a terminal that is too narrow, columns that do not fit are named below each row.
func Table(w io.Writer, headers []string, rows [][]string) error {
	return fit(w, headers, rows, "<none>")
}

func upper(headers []string) []string {
	upper := make([]string, len(headers))
	for i, h := range headers {
		upper[i] = strings.ToUpper(h)
	}
	return upper
}

// Tree writes rows in the same way, of which some are indented below others, and leaves empty cells empty.
func Tree(w io.Writer, headers []string, rows [][]string) error {
	return fit(w, headers, rows, "")
}

// fit writes a table, or as many of its columns as fit into the width. Below each row it writes what the other
// columns have.
func fit(w io.Writer, headers []string, rows [][]string, empty string) error {
	n, width := columns(headers, rows, len(empty), Width(w)), Width(w)
	if n == len(headers) {
		return table(w, upper(headers), rows, empty)
	}
	var b bytes.Buffer
	if err := table(&b, upper(headers[:n]), rows, empty); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, line := range lines {
		fmt.Fprintln(w, line)
		if i == 0 {
			continue
		}
		for _, l := range linesBelow(headers, rows[i-1], n, width) {
			fmt.Fprintln(w, l)
		}
	}
	return nil
}

// linesBelow returns the lines below a row, with its cells from the n-th on.
func linesBelow(headers, row []string, n, width int) []string {
	in := "  "
	if len(row) > 0 {
		in += indent(row[0])
	}
	var lines []string
	for i := n; i < len(row); i++ {
		if row[i] == "" || row[i] == "-" {
			continue
		}
		cell := headers[i] + ": " + Clean(row[i])
		if last := len(lines) - 1; last >= 0 && twwidth.Width(lines[last]+", "+cell) <= width {
			lines[last] += ", " + cell
			continue
		}
		lines = append(lines, in+cell)
	}
	for i, l := range lines {
		lines[i] = Fold(l, width, in+"  ")
	}
	return lines
}

// columns returns how many columns of a table fit into a width; the first one always does.
func columns(headers []string, rows [][]string, least, width int) int {
	total := 0
	for i := range headers {
		widest := twwidth.Width(headers[i])
		for _, r := range rows {
			cell := least
			if i < len(r) && r[i] != "" {
				cell = twwidth.Width(indent(r[i]) + Clean(r[i]))
			}
			widest = max(widest, cell)
		}
		if total += widest; i > 0 && width > 0 && total > width {
			return i
		}
		total += len("   ")
	}
	return len(headers)
}

// Result writes rows of a database in the same way. Headers and empty cells stay as they are.
func Result(w io.Writer, headers []string, rows [][]string) error {
	return table(w, headers, rows, "")
}

func table(w io.Writer, headers []string, rows [][]string, empty string) error {
	var b bytes.Buffer
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{Global: tw.AlignLeft},
		Padding:    tw.CellPadding{Global: tw.Padding{Right: "   ", Overwrite: true}},
	}
	t := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithHeaderConfig(cells),
		tablewriter.WithRowConfig(cells),
		tablewriter.WithTrimSpace(tw.Off), // rows of a tree begin with spaces
	)
	t.Header(headers)
	for _, r := range rows {
		line := make([]string, len(headers))
		for i := range line {
			if i < len(r) {
				line[i] = indent(r[i]) + Clean(r[i])
			}
			if line[i] == "" {
				line[i] = empty
			}
		}
		if err := t.Append(line); err != nil {
			return err
		}
	}
	if err := t.Render(); err != nil {
		return err
	}
	return writeTrimmed(w, b.String())
}

// indent returns the spaces that a cell begins with, which put it below another one.
func indent(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " "))] }

// writeTrimmed leaves out the padding of the last column. On a terminal that the table just fits the padding would
// break lines.
func writeTrimmed(w io.Writer, table string) error {
	var b strings.Builder
	for line := range strings.Lines(table) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
