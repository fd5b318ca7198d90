package drive

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// Mates returns parts of a database in groups, in their order. The parts of a group wait for each other, as waits says of
// two of them.
func Mates[T any](parts []T, waits func(a, b T) bool) (groups [][]T) {
	for _, part := range parts {
		at := slices.IndexFunc(groups, func(group []T) bool {
			return slices.ContainsFunc(group, func(other T) bool { return waits(part, other) })
		})
		if at < 0 {
			at, groups = len(groups), append(groups, nil)
		}
		groups[at] = append(groups[at], part)
	}
	return groups
}

// Together drives several parts of a database at the same time, because each waits for PD of the other parts. A part
// begins when the part before is written or has ended. Where one fails, the runs of the other parts end: they would wait
// for ever.
//
// Each drives one part, and calls written when what is asked for is in the API server. Each finds that its context has
// ended if the part is not to begin. Together returns the error of each part.
func Together(ctx context.Context, titles []string, each func(ctx context.Context, part int, written func()) error) []error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var runs sync.WaitGroup
	errs := make([]error, len(titles))
	for part := range titles {
		written := make(chan struct{})
		next := sync.OnceFunc(func() { close(written) })
		runs.Go(func() {
			if errs[part] = each(ctx, part, next); errs[part] != nil {
				end(exit.With(exit.Of(errs[part]), fmt.Errorf("the run of %s has failed, and this part waits for PD of that part", titles[part])))
			}
			next()
		})
		<-written
	}
	runs.Wait()
	return errs
}
