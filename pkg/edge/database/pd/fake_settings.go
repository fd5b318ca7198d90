package pd

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// ScheduleSettings implements Client.
func (f *Fake) ScheduleSettings(ctx context.Context, keys ...string) (out *ScheduleSettings, err error) {
	err = f.do(ctx, "ScheduleSettings()", func(s *FakeState) error {
		out = &ScheduleSettings{Schedulers: slices.Clone(s.Settings.Schedulers), Numbers: map[string]float64{}}
		for _, key := range keys {
			if n, ok := s.Settings.Numbers[key]; ok {
				out.Numbers[key] = n
			}
		}
		return nil
	})
	return out, err
}

// AddScheduler implements Client.
func (f *Fake) AddScheduler(ctx context.Context, name string) error {
	return f.do(ctx, fmt.Sprintf("AddScheduler(%s)", name), func(s *FakeState) error {
		if !slices.Contains(s.Settings.Schedulers, name) {
			s.Settings.Schedulers = append(s.Settings.Schedulers, name)
		}
		return nil
	})
}

// SetScheduleNumbers implements Client.
func (f *Fake) SetScheduleNumbers(ctx context.Context, numbers map[string]float64) error {
	return f.do(ctx, fmt.Sprintf("SetScheduleNumbers(%v)", numbers), func(s *FakeState) error {
		maps.Copy(s.Settings.Numbers, numbers)
		return nil
	})
}
