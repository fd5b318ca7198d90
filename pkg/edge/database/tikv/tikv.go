// Package tikv asks a TiKV store how many region leaders and regions it holds.
//
// It exists because PD's counts are as old as the store's last heartbeat, up to ten seconds. A store must not be
// restarted while it leads regions, and the store itself knows the current number. The contract: a number is
// returned only when the store has reported it; a metric that is missing is an error, never zero.
package tikv

import (
	"context"
	"fmt"
	"net/http"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// StatusPort is where TiKV serves its metrics.
const StatusPort = 20180

// metric has the labels type="leader" and type="region".
const metric = "tikv_raftstore_region_count"

// body is read of a page: the lines of the one metric.
var body = ask.Body{Max: ask.PageBytes, Keep: ask.Metrics{metric}.Lines}

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
	port := ask.Port{HTTP: c.HTTP, Scheme: c.Scheme, Number: StatusPort, Body: body}
	page, err := port.Get(ctx, host, "/metrics")
	if err != nil {
		return Counts{}, err
	}
	if page.Code != http.StatusOK {
		return Counts{}, fmt.Errorf("metrics page answered %s", page.Status)
	}
	return parse(page.Body)
}

func parse(lines []byte) (Counts, error) {
	values, err := ask.Parse(lines)
	if err != nil {
		return Counts{}, err
	}
	var n Counts
	if n.Leaders, err = value(values, "leader"); err != nil {
		return Counts{}, err
	}
	if n.Regions, err = value(values, "region"); err != nil {
		return Counts{}, err
	}
	return n, nil
}

func value(values ask.Values, kind string) (int, error) {
	n, ok, err := values.Count(metric, kind)
	if err == nil && !ok {
		err = fmt.Errorf("metrics page has no %s{type=%q}", metric, kind)
	}
	return n, err
}
