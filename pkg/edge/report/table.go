package report

import (
	"bytes"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Table writes rows as kubectl does: no borders, left-aligned, headers in upper case, three spaces
// between columns, "<none>" for an empty cell. Nothing is wrapped or cut, so that grep and awk can
// read it.
func Table(w io.Writer, headers []string, rows [][]string) error {
	return table(w, upper(headers), rows, "<none>")
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
	return table(w, upper(headers), rows, "")
}

// Result writes rows of a database in the same way, with its headers and its empty cells as they
// are.
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

// writeTrimmed leaves out the padding of the last column, which would break
// lines on a terminal that the table just fits.
func writeTrimmed(w io.Writer, table string) error {
	var b strings.Builder
	for line := range strings.Lines(table) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
