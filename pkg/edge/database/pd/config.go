package pd

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ReplicationConfig implements Client.
func (c *client) ReplicationConfig(ctx context.Context) (*ReplicationConfig, error) {
	const op = "get replication config"
	var raw map[string]any
	err := c.call(ctx, op, func(ctx context.Context, m member) (err error) {
		raw, err = get[map[string]any](ctx, m, pathReplicateConfig)
		return err
	})
	if err != nil {
		return nil, err
	}
	replicas, ok := raw["max-replicas"].(float64)
	if !ok || replicas < 1 {
		// Zero would allow to remove every store.
		return nil, fmt.Errorf("%s: PD answered max-replicas %v", op, raw["max-replicas"])
	}
	level, _ := raw["isolation-level"].(string)
	return &ReplicationConfig{
		MaxReplicas:          int(replicas),
		LocationLabels:       listOf(raw["location-labels"]),
		IsolationLevel:       level,
		StrictlyMatchLabel:   isTrue(raw["strictly-match-label"]),
		EnablePlacementRules: isTrue(raw["enable-placement-rules"]),
	}, nil
}

// MaxStoreDownTime implements Client.
func (c *client) MaxStoreDownTime(ctx context.Context) (time.Duration, error) {
	const op = "get schedule config"
	var raw map[string]any
	err := c.call(ctx, op, func(ctx context.Context, m member) (err error) {
		raw, err = get[map[string]any](ctx, m, pathScheduleConfig)
		return err
	})
	if err != nil {
		return 0, err
	}
	text, _ := raw["max-store-down-time"].(string)
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: PD answered max-store-down-time %v", op, raw["max-store-down-time"])
	}
	return d, nil
}

// isTrue reads a boolean, which PD writes as a string.
func isTrue(v any) bool { return v == true || v == "true" }

// listOf reads a list, which PD writes as one string with commas.
func listOf(v any) []string {
	s, _ := v.(string)
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// SetReplicationConfig implements Client. The library's way, a write to the whole configuration, applies key by key and
// may stop half-way; this path applies all or nothing.
func (c *client) SetReplicationConfig(ctx context.Context, patch map[string]any) error {
	if len(patch) == 0 {
		return nil
	}
	return c.call(ctx, "set replication config", func(ctx context.Context, m member) error {
		return m.raw(ctx, request{method: http.MethodPost, path: pathReplicateConfig, body: patch})
	})
}

// ClusterVersion implements Client. It is 0.0.0 until the first store joins.
func (c *client) ClusterVersion(ctx context.Context) (string, error) {
	var v string
	err := c.call(ctx, "get cluster version", func(ctx context.Context, m member) (err error) {
		v, err = get[string](ctx, m, pathClusterVersion)
		return err
	})
	return v, err
}

// HoldRegions implements Client. PD keeps the values as those of LimitLeaderMoves. With a limit of 0 PD begins no move
// for balance, because of hot regions, or to merge regions.
func (c *client) HoldRegions(ctx context.Context, lasts time.Duration) error {
	return c.call(ctx, "hold regions", func(ctx context.Context, m member) error {
		return m.post(ctx, fmt.Sprintf("%s?ttlSecond=%.0f", pathConfig, lasts.Seconds()), map[string]any{
			"schedule.region-schedule-limit": 0, "schedule.hot-region-schedule-limit": 0, "schedule.merge-schedule-limit": 0,
		})
	})
}

// LimitLeaderMoves implements Client. PD keeps the value in etcd with a lease, apart from its configuration, which
// stays as it is. BR and TiDB Lightning use the same call while they restore.
func (c *client) LimitLeaderMoves(ctx context.Context, limit int, lasts time.Duration) error {
	return c.call(ctx, "limit leader moves", func(ctx context.Context, m member) error {
		return m.post(ctx, fmt.Sprintf("%s?ttlSecond=%.0f", pathConfig, lasts.Seconds()), map[string]any{"schedule.leader-schedule-limit": limit})
	})
}
