package pd

import (
	"context"
	"fmt"
	"slices"
)

// ServiceSafePoints implements Client.
func (f *Fake) ServiceSafePoints(ctx context.Context) (out []ServiceSafePoint, err error) {
	err = f.do(ctx, "ServiceSafePoints()", func(s *FakeState) error {
		out = slices.Clone(s.SafePoints)
		return nil
	})
	return out, err
}

// DeleteServiceSafePoint implements Client.
func (f *Fake) DeleteServiceSafePoint(ctx context.Context, id string) error {
	return f.do(ctx, fmt.Sprintf("DeleteServiceSafePoint(%s)", id), func(s *FakeState) error {
		s.SafePoints = slices.DeleteFunc(s.SafePoints, func(p ServiceSafePoint) bool { return p.ID == id })
		return nil
	})
}
