package drive

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

const (
	// electionTime is longer than PD takes to elect a leader, also on a busy machine.
	electionTime = 15 * time.Second
	// askAgain is how soon PD is asked again.
	askAgain = 500 * time.Millisecond
)

// patient observes again, for some time, while PD does not answer and the request would be refused because of that. One
// reading says little: PD answers nobody while it elects a leader, and a pipeline would fail.
func (p proposal) patient(ctx context.Context, atMost time.Duration, observe func() (state.Observation, error)) (seen state.Observation, err error) {
	late := wait.PollUntilContextTimeout(ctx, askAgain, atMost, true, func(context.Context) (bool, error) {
		seen, err = observe()
		return err != nil || p.seeing(p.want, seen.Snapshot) == nil, nil
	})
	if err == nil && late != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return seen, err
}
