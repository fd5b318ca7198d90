package observe

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// A read without permission is tried again after ten minutes, and not before: each would cost a request for
// each volume. What was granted meanwhile is then no gap any more.
func TestForbiddenReadIsTriedAgain(t *testing.T) {
	m, asked := memory[*int]{fresh: Fresh}, 0
	var answer error = apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumes"}, "pv", errors.New(`User "ann" cannot get resource`))
	read := func(at time.Duration) *int {
		return m.readOnce(state.LongAgo.Add(at), "pv", func() (*int, *state.Gap, error) {
			asked++
			if answer != nil {
				return nil, &state.Gap{What: "volumes"}, answer
			}
			return new(1), nil, nil
		})
	}
	read(0)
	read(9 * time.Minute)
	if asked != 1 || !m.forbidden() {
		t.Fatalf("asked %d times within ten minutes, forbidden %t", asked, m.forbidden())
	}
	answer = nil
	if got := read(10 * time.Minute); got == nil || asked != 2 || m.forbidden() || len(m.gaps()) > 0 {
		t.Errorf("after ten minutes: %v, asked %d times, gaps %v", got, asked, m.gaps())
	}
}
