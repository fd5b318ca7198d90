package ask

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// PageBytes is how many bytes of a page of metrics are read. TiKV's page has some megabytes, and so has PD's page in a
// cluster with thousands of stores.
const PageBytes = 64 << 20

const (
	longestLine = 1 << 20
	keptBytes   = 64 << 10 // of all lines that are kept of a page
)

// Metrics are the names of the metrics that are read from a page in the text format of Prometheus.
type Metrics []string

// Lines returns the lines of the metrics. The page has megabytes of others. To parse those would cost more than
// everything else in a turn of the loop.
func (m Metrics) Lines(page io.Reader) ([]byte, error) {
	var kept bytes.Buffer
	lines := bufio.NewScanner(page)
	lines.Buffer(nil, longestLine) // it begins small, and grows with the longest line
	for lines.Scan() {
		if !slices.ContainsFunc(m, func(name string) bool { return isOf(lines.Bytes(), name) }) {
			continue
		}
		kept.Write(lines.Bytes())
		kept.WriteByte('\n')
		if kept.Len() > keptBytes {
			return nil, fmt.Errorf("%w: metrics %s", ErrTooLarge, strings.Join(m, ", "))
		}
	}
	return kept.Bytes(), lines.Err()
}

// isOf reports whether a line is one of a metric, and not of one whose name only begins so.
func isOf(line []byte, metric string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(metric))
	return ok && len(rest) > 0 && (rest[0] == '{' || rest[0] == ' ')
}

// Values are the values of metrics, by the metric and by its label "type". Values of metrics without that label are
// under "".
type Values map[string]map[string]float64

// Parse returns the values in lines that Lines has kept. Of two lines with the same type the first one counts.
func Parse(lines []byte) (Values, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(lines))
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	all := make(Values, len(families))
	for name, family := range families {
		all[name] = map[string]float64{}
		for _, m := range family.GetMetric() {
			kind := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == "type" {
					kind = l.GetValue()
				}
			}
			if _, had := all[name][kind]; !had {
				all[name][kind] = m.GetUntyped().GetValue() // the line that says of which type it is was not kept
			}
		}
	}
	return all, nil
}

// Count returns a value that counts something, false where the page has none. What is no number of things is an error:
// taken for zero, it could say that nothing is there.
func (v Values) Count(metric, kind string) (int, bool, error) {
	value, ok := v[metric][kind]
	if !ok {
		return 0, false, nil
	}
	if value < 0 || value > math.MaxInt32 || value != math.Trunc(value) { // NaN differs from itself
		return 0, true, fmt.Errorf("%s{type=%q} is %v", metric, kind, value)
	}
	return int(value), true, nil
}
