package pd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// Isolation is what PD's leader reports of where the copies of regions are.
type Isolation struct {
	// Regions is how many regions there are.
	Regions int
	// Apart is how many regions have copies that differ in a location label, and in no wider one. The key "none" is for
	// regions with two copies that differ in no location label. Apart is empty as long as PD has counted nothing.
	Apart map[string]int
	// Unsound is how many regions lack a copy, or have a copy that is behind, down, or on a store that leaves. The keys
	// are those of unsound; a key that PD does not report is missing.
	Unsound map[string]int
	// Moving is how many regions have more copies than they should, because PD moves a copy.
	Moving int
	// Pass is how long PD takes to go through all regions, zero where PD does not report it.
	Pass time.Duration
}

// The metrics of PD's leader that are read.
const (
	metricApart   = "pd_regions_label_level"
	metricUnsound = "pd_regions_status"
	metricPass    = "pd_checker_patrol_regions_time"
)

// unsound are the kinds of regions for which a copy counts as missing. PD writes each with the suffix regionCount.
var unsound = []string{"miss-peer", "pending-peer", "down-peer", "offline-peer"}

// moving is the kind of regions of which PD moves a copy: the new one is there before the old one goes.
const moving = "extra-peer"

const regionCount = "-region-count"

// Isolation implements Client. PD has no API for these counts, only metrics. A member answers with its own metrics
// and does not forward such a request. The metrics of a member that does not lead are empty. They would look like those
// of a leader that has counted nothing yet. So the member must confirm afterwards that it still leads. A page may have
// megabytes, so one request may take longer than others.
func (c *client) Isolation(ctx context.Context) (*Isolation, error) {
	const op = "read where copies of regions are"
	var page metricsPage
	var all struct {
		Count *int `json:"count"`
	}
	err := c.callWithin(ctx, op, patience*c.attempt, func(ctx context.Context, m member) error {
		all.Count = nil
		if err := m.raw(ctx, request{method: http.MethodGet, path: pathRegionCount, out: &all}); err != nil {
			return err
		}
		if err := m.raw(ctx, request{method: http.MethodGet, path: pathMetrics, out: &page}); err != nil {
			return err
		}
		return m.stillLeads(ctx)
	})
	if err != nil {
		return nil, err
	}
	if all.Count == nil || *all.Count < 0 {
		return nil, fmt.Errorf("%s: PD did not answer how many regions there are", op)
	}
	i, err := isolationOf(ask.Values(page))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	i.Regions = *all.Count
	return i, nil
}

// stillLeads returns an error that passes by itself unless the member names itself as the leader.
func (m member) stillLeads(ctx context.Context) error {
	var leader memberInfo
	if err := m.raw(ctx, request{method: http.MethodGet, path: pathLeader, out: &leader, local: true}); err != nil {
		return err
	}
	if slices.ContainsFunc(leader.ClientURLs, func(url string) bool { return hostOf(url) == hostOf(m.url) }) {
		return nil
	}
	return &lostError{kind: ErrNoLeader, errs: []error{errors.New(m.url + " does not lead any more")}}
}

// isolationOf returns what a page says.
func isolationOf(values ask.Values) (*Isolation, error) {
	i := &Isolation{Apart: map[string]int{}, Unsound: map[string]int{}}
	for label := range values[metricApart] {
		n, _, err := values.Count(metricApart, label)
		if err != nil {
			return nil, err
		}
		i.Apart[label] = n
	}
	for _, kind := range unsound {
		n, ok, err := values.Count(metricUnsound, kind+regionCount)
		if err != nil {
			return nil, err
		}
		if ok {
			i.Unsound[kind] = n
		}
	}
	var err error
	if i.Moving, _, err = values.Count(metricUnsound, moving+regionCount); err != nil {
		return nil, err
	}
	seconds := values[metricPass][""]
	if seconds < 0 || seconds > math.MaxInt32 || math.IsNaN(seconds) {
		return nil, fmt.Errorf("%s is %v", metricPass, seconds)
	}
	i.Pass = time.Duration(seconds * float64(time.Second))
	return i, nil
}

// metricsPage is a page of metrics, of which only those of Isolation are kept.
type metricsPage ask.Values

// readText implements texts.
func (p *metricsPage) readText(from io.Reader) error {
	lines, err := ask.Metrics{metricApart, metricUnsound, metricPass}.Lines(from)
	if err != nil {
		return err
	}
	values, err := ask.Parse(lines)
	*p = metricsPage(values)
	return err
}

// clone returns a copy that shares nothing.
func (i *Isolation) clone() *Isolation {
	c := *i
	c.Apart, c.Unsound = maps.Clone(i.Apart), maps.Clone(i.Unsound)
	return &c
}
