package sql

import (
	"bytes"
	dbsql "database/sql"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// format is the flag -o.
type format string

const (
	asTable format = "table"
	asJSON  format = "json"
	asCSV   format = "csv"
)

var formats = []string{string(asTable), string(asJSON), string(asCSV)}

// String implements pflag.Value.
func (o *format) String() string { return string(*o) }

// Set implements pflag.Value.
func (o *format) Set(name string) error {
	if !slices.Contains(formats, name) {
		return errors.New("supported formats: " + strings.Join(formats, ", "))
	}
	*o = format(name)
	return nil
}

// Type implements pflag.Value.
func (o *format) Type() string { return "format" }

// null is how a value that is not there is printed where nothing else says so.
const null = "NULL"

// print prints the rows of one statement; nothing for a statement that has none, such as an INSERT.
func (o *format) print(out io.Writer, rows *dbsql.Rows) error {
	types, err := rows.ColumnTypes()
	if err != nil || len(types) == 0 {
		return err
	}
	switch *o {
	case asJSON:
		return printJSON(out, rows, types)
	case asCSV:
		return printCSV(out, rows, types)
	}
	var lines [][]string
	err = each(rows, types, func(values []dbsql.RawBytes) error {
		lines = append(lines, texts(values))
		return nil
	})
	if err != nil {
		return err
	}
	return report.Result(out, titles(types), lines)
}

func printCSV(out io.Writer, rows *dbsql.Rows, types []*dbsql.ColumnType) error {
	if !report.Terminal(out) {
		out = harmless.Raw(out) // a program reads the values as they are
	}
	w := csv.NewWriter(out)
	if err := w.Write(titles(types)); err != nil {
		return err
	}
	err := each(rows, types, func(values []dbsql.RawBytes) error { return w.Write(texts(values)) })
	w.Flush()
	return errors.Join(err, w.Error())
}

// printJSON prints an array with one object for each row, in the order of the columns.
func printJSON(out io.Writer, rows *dbsql.Rows, types []*dbsql.ColumnType) error {
	keys := unique(titles(types))
	between := "["
	err := each(rows, types, func(values []dbsql.RawBytes) error {
		var line bytes.Buffer
		line.WriteString(between + "\n  {")
		for i, v := range values {
			if i > 0 {
				line.WriteString(", ")
			}
			fmt.Fprintf(&line, "%s: %s", quoted(keys[i]), value(v, types[i].DatabaseTypeName()))
		}
		line.WriteString("}")
		between = ","
		_, err := out.Write(harmless.JSON(line.Bytes()))
		return err
	})
	end := "\n]\n"
	if between == "[" {
		end = "[]\n"
	}
	if _, failed := io.WriteString(out, end); failed != nil {
		return failed
	}
	return err
}

// each reads the rows of one statement.
func each(rows *dbsql.Rows, types []*dbsql.ColumnType, do func([]dbsql.RawBytes) error) error {
	values, into := make([]dbsql.RawBytes, len(types)), make([]any, len(types))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := do(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

func titles(types []*dbsql.ColumnType) []string {
	var all []string
	for _, t := range types {
		all = append(all, t.Name())
	}
	return all
}

// unique gives columns of the same name different names. If two members of an object have the same name, programs
// read the last.
func unique(names []string) []string {
	seen := map[string]int{}
	for i, n := range names {
		if seen[n]++; seen[n] > 1 {
			names[i] = fmt.Sprintf("%s_%d", n, seen[n])
		}
	}
	return names
}

func texts(values []dbsql.RawBytes) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = text(v)
	}
	return all
}

// text returns a value as text; bytes that are none in hexadecimal digits.
func text(v dbsql.RawBytes) string {
	switch {
	case v == nil:
		return null
	case !utf8.Valid(v):
		return "0x" + hex.EncodeToString(v)
	}
	return string(v)
}

// value returns a value as JSON. Numbers of a fixed precision are text: programs read JSON's numbers
// as floating ones.
func value(v dbsql.RawBytes, kind string) string {
	kind = strings.TrimPrefix(kind, "UNSIGNED ")
	plain := slices.Contains([]string{"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "JSON"}, kind)
	switch {
	case v == nil:
		return "null"
	case plain && json.Valid(v):
		return string(v)
	}
	return quoted(text(v))
}

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text can be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
