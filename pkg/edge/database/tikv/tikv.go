// Package tikv asks a TiKV store how many region leaders and regions it holds.
//
// It exists because PD's counts are as old as the store's last heartbeat, up to ten seconds. A store must not be
// restarted while it leads regions, and the store itself knows the current number. The contract: a number is
// returned only when the store has reported it; a metric that is missing is an error, never zero.
package tikv

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// StatusPort is where TiKV serves its metrics.
const StatusPort = 20180

// metric has the labels type="leader" and type="region".
const metric = "tikv_raftstore_region_count"

const (
	maxBody = 64 << 20
	maxLine = 1 << 20
	maxKept = 64 << 10 // of the one metric
)

// Client asks TiKV stores. Scheme "" means http.
type Client struct {
	HTTP   *http.Client
	Scheme string
}

// Counts are the numbers of leaders and regions of one store.
type Counts struct{ Leaders, Regions int }

// LeaderCount returns how many regions the store on host leads. A host without a port gets StatusPort.
func (c *Client) LeaderCount(ctx context.Context, host string) (int, error) {
	n, err := c.Counts(ctx, host)
	return n.Leaders, err
}

// RegionCount returns how many regions the store on host holds a peer of.
func (c *Client) RegionCount(ctx context.Context, host string) (int, error) {
	n, err := c.Counts(ctx, host)
	return n.Regions, err
}

// Counts returns both numbers from one request.
func (c *Client) Counts(ctx context.Context, host string) (Counts, error) {
	n, err := c.counts(ctx, host)
	if err != nil {
		return Counts{}, fmt.Errorf("get region counts of TiKV %s: %w", host, err)
	}
	return n, nil
}

func (c *Client) counts(ctx context.Context, host string) (Counts, error) {
	port := ask.Port{HTTP: c.HTTP, Scheme: c.Scheme, Number: StatusPort, Body: ask.Body{Max: maxBody, Keep: linesOf}}
	page, err := port.Get(ctx, host, "/metrics")
	if err != nil {
		return Counts{}, err
	}
	if page.Code != http.StatusOK {
		return Counts{}, fmt.Errorf("metrics page answered %s", page.Status)
	}
	return parse(page.Body)
}

// linesOf keeps the lines of the one metric. TiKV's page has some megabytes of others, which would cost more to parse
// than everything else in a turn of the loop.
func linesOf(r io.Reader) ([]byte, error) {
	var kept bytes.Buffer
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine) // it begins small, and grows with the longest line
	for lines.Scan() {
		rest, ok := bytes.CutPrefix(lines.Bytes(), []byte(metric))
		if ok && len(rest) > 0 && (rest[0] == '{' || rest[0] == ' ') {
			kept.Write(lines.Bytes())
			kept.WriteByte('\n')
			if kept.Len() > maxKept {
				return nil, fmt.Errorf("%w: metric %s", ask.ErrTooLarge, metric)
			}
		}
	}
	return kept.Bytes(), lines.Err()
}

func parse(lines []byte) (Counts, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(lines))
	if err != nil {
		return Counts{}, fmt.Errorf("parse metrics: %w", err)
	}
	var n Counts
	if n.Leaders, err = value(families[metric], "leader"); err != nil {
		return Counts{}, err
	}
	if n.Regions, err = value(families[metric], "region"); err != nil {
		return Counts{}, err
	}
	return n, nil
}

func value(family *dto.MetricFamily, kind string) (int, error) {
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() != "type" || l.GetValue() != kind {
				continue
			}
			v := m.GetUntyped().GetValue()
			if v < 0 || v > math.MaxInt32 || v != math.Trunc(v) { // NaN differs from itself
				return 0, fmt.Errorf("%s{type=%q} is %v", metric, kind, v)
			}
			return int(v), nil
		}
	}
	return 0, fmt.Errorf("metrics page has no %s{type=%q}", metric, kind)
}
