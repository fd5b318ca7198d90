package pd

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"
)

// pathSafePoints lists what keeps PD from garbage collection; pathSafePoint is one of them.
const (
	pathSafePoints = "/pd/api/v1/gc/safepoint"
	pathSafePoint  = pathSafePoints + "/"
)

// ServiceSafePoint keeps garbage collection from data that is as new as a timestamp, for a service such as a backup.
type ServiceSafePoint struct {
	ID      string    `json:"service_id"`
	TS      uint64    `json:"safe_point"`
	Expires time.Time `json:"-"` // PD deletes it then unless the service renews it
}

// ServiceSafePoints implements Client.
func (c *client) ServiceSafePoints(ctx context.Context) ([]ServiceSafePoint, error) {
	type answer struct {
		All []struct {
			ServiceSafePoint
			Expires int64 `json:"expired_at"`
		} `json:"service_gc_safe_points"`
	}
	var got answer
	err := c.call(ctx, "list service safepoints", func(ctx context.Context, m member) (err error) {
		got, err = get[answer](ctx, m, pathSafePoints)
		return err
	})
	if err != nil {
		return nil, err
	}
	var all []ServiceSafePoint
	for _, s := range got.All {
		s.ServiceSafePoint.Expires = time.Unix(s.Expires, 0)
		all = append(all, s.ServiceSafePoint)
	}
	slices.SortFunc(all, func(a, b ServiceSafePoint) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// DeleteServiceSafePoint implements Client. PD answers the same where there is none.
func (c *client) DeleteServiceSafePoint(ctx context.Context, id string) error {
	return c.call(ctx, "delete service safepoint "+id, func(ctx context.Context, m member) error {
		return m.remove(ctx, pathSafePoint+url.PathEscape(id))
	})
}
