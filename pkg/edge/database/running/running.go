// Package running asks members which configuration they run with, and changes what PD keeps of it.
//
// It exists because a configuration in the spec need not be the one in effect. A member reads the spec's
// configuration when it starts, and PD keeps some settings itself since the cluster was made.
package running

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// limits bound an answer. TiKV's configuration has about 30 kB; PD's has a limit for each store.
var limits = ask.Limits{Bytes: 4 << 20, Elements: 10_000, Keys: 200_000}

// page is where the members of a component show their configuration.
type page struct {
	port int
	path string
}

var pages = map[topology.Kind]page{
	topology.PD:   {topology.PDClientPort, "/pd/api/v1/config"},
	topology.TiKV: {topology.TiKVStatusPort, "/config"},
	topology.TiDB: {topology.TiDBStatusPort, "/config"},
}

// ErrNotShown says that members of a component do not show their configuration.
var ErrNotShown = errors.New("its members do not show their configuration")

// Client asks members. Scheme "" means http.
type Client struct {
	HTTP   *http.Client
	Scheme string
}

// Settings returns the configuration that a member runs with, with one key for each setting.
func (c Client) Settings(ctx context.Context, k topology.Kind, host string) (map[string]any, error) {
	at, ok := pages[k]
	if !ok {
		return nil, fmt.Errorf("%s: %w", k.Title(), ErrNotShown)
	}
	answer, err := c.port(at).Get(ctx, host, at.path)
	if err == nil && answer.Code != http.StatusOK {
		err = fmt.Errorf("it answered %s", answer.Status)
	}
	var tables map[string]any
	if err == nil {
		err = ask.Unmarshal(ctx, answer.Body, limits, &tables)
	}
	if err != nil {
		return nil, fmt.Errorf("get the configuration of %s %s: %w", k.Title(), host, err)
	}
	return topology.Flat(tables), nil
}

func (c Client) port(p page) ask.Port {
	return ask.Port{HTTP: c.HTTP, Scheme: c.Scheme, Number: p.port, Body: ask.Body{Max: limits.Bytes}}
}

// ErrNotKept says that members of a component do not keep a setting themselves, so that it cannot be
// changed there.
var ErrNotKept = errors.New("its members do not keep it themselves")

// Change changes settings that the members of a component keep themselves. A member of PD forwards them
// to PD's leader. They are in effect at once, on all members.
func (c Client) Change(ctx context.Context, k topology.Kind, host string, settings map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !k.Keeps(key) {
			return fmt.Errorf("set %s of %s: %w", key, k.Title(), ErrNotKept)
		}
	}
	at, ok := pages[k]
	if !ok {
		return fmt.Errorf("set settings of %s: %w", k.Title(), ErrNotShown)
	}
	body, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("encode settings of %s: %w", k.Title(), err)
	}
	answer, err := c.port(at).Post(ctx, host, at.path, body)
	if err == nil && answer.Code != http.StatusOK {
		err = fmt.Errorf("it answered %s", ask.With(answer.Status, ask.Text(answer.Body, "failed to ")))
	}
	if err != nil {
		return fmt.Errorf("set settings of %s %s: %w", k.Title(), host, err)
	}
	return nil
}

// Shown reports whether the members of a component show their configuration.
func Shown(k topology.Kind) bool { _, ok := pages[k]; return ok }
