package pd

import (
	"context"
	"maps"
	"net/http"
	"slices"
)

// ScheduleSettings are the schedulers that PD runs, and numbers of its schedule configuration by their keys.
type ScheduleSettings struct {
	Schedulers []string
	Numbers    map[string]float64
}

// ScheduleSettings implements Client. A key that PD does not have is left out.
func (c *client) ScheduleSettings(ctx context.Context, keys ...string) (*ScheduleSettings, error) {
	ctx, cancel := context.WithTimeout(ctx, c.budget)
	defer cancel()
	running, conf, err := c.loadedSchedulers(ctx)
	if err != nil {
		return nil, err
	}
	s := &ScheduleSettings{Schedulers: running, Numbers: map[string]float64{}}
	for _, key := range keys {
		if n, ok := conf[key].(float64); ok {
			s.Numbers[key] = n
		}
	}
	return s, nil
}

// AddScheduler implements Client. PD refuses a scheduler that runs already, so that the list is read first.
func (c *client) AddScheduler(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, c.budget)
	defer cancel()
	running, _, err := c.loadedSchedulers(ctx)
	if err != nil || slices.Contains(running, name) {
		return err
	}
	return c.call(ctx, "add scheduler "+name, func(ctx context.Context, m member) error {
		return m.post(ctx, pathSchedulers, map[string]any{"name": name})
	})
}

// SetScheduleNumbers implements Client.
func (c *client) SetScheduleNumbers(ctx context.Context, numbers map[string]float64) error {
	if len(numbers) == 0 {
		return nil
	}
	return c.call(ctx, "set schedule config", func(ctx context.Context, m member) error {
		return m.raw(ctx, request{method: http.MethodPost, path: pathScheduleConfig, body: maps.Clone(numbers)})
	})
}
