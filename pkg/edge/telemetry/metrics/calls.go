package metrics

import (
	"context"
	"errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// resultOf names how a call of PD ended, and reports whether that is a failure of PD. A refusal is an answer, and a
// cancelled call needs none.
func resultOf(err error) (result string, failed bool) {
	switch {
	case err == nil:
		return "ok", false
	case errors.Is(err, pd.ErrUnreachable):
		return "unreachable", true
	case errors.Is(err, pd.ErrNoLeader):
		return "no_leader", true
	case errors.Is(err, pd.ErrNotReady):
		return "not_ready", true
	case errors.Is(err, pd.ErrNotBootstrapped):
		return "not_bootstrapped", false
	case errors.Is(err, pd.ErrSchedulersNotLoaded):
		return "schedulers_not_loaded", false
	case errors.Is(err, pd.ErrRefused):
		return "refused", false
	case errors.Is(err, context.Canceled):
		return "cancelled", false
	}
	return "error", true
}
