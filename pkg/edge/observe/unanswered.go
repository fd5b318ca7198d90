package observe

import (
	"context"
	"crypto/tls"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/voters"
)

// unanswered returns what is known of a PD of which no member has answered as its leader. Where members answer, each is
// asked what it knows itself: only that tells a PD without a leader from one whose leader we cannot reach. The latter
// serves everybody else, and would lose its quorum if members were restarted for it.
func (o *Observer) unanswered(ctx context.Context, client pd.Client, c topology.Cluster, seen objects, err error) state.PD {
	plain := state.PD{Problem: problem(err)}
	if !errors.Is(err, pd.ErrNoLeader) && !errors.Is(err, pd.ErrLeaderUnreachable) {
		o.history.ledAgain()
		return plain
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	read := voters.Reader{PD: client, Kube: o.kube, Cluster: c.PDPart(), Now: o.now, Pod: func(_ context.Context, ordinal int) (*corev1.Pod, error) {
		return seen.pdPods(c)[ordinal], nil
	}}
	say, failed := read.Read(ctx)
	var leader *pd.LeaderError
	name, named := "", errors.As(err, &leader)
	if named {
		name = voters.Named(c.PDPart(), leader.Name)
	}
	out := state.Unanswered(say)
	switch {
	case failed == nil:
	case named: // only the members' HTTP API answers
		out = state.UnreachedLeader(name)
	default:
		out = plain
	}
	if named && len(out.Unreached) == 1 && out.Unreached[0] == name {
		out.Problem += ": " + cause(leader.Err)
	}
	out.Committed = o.history.committedUpTo(out.Committed)
	unled, leaderless := o.history.unledFor(out.Unled, o.now()), o.history.outlasts(out.Leaderless, o.now())
	out.Electing = len(unled) < len(out.Unled) || out.Leaderless && !leaderless
	out.Unled, out.Leaderless = unled, leaderless
	return out
}

func problem(err error) string {
	var down *pd.UnavailableError
	if errors.As(err, &down) {
		if why := refusal(err); why != "" {
			return down.Kind.Error() + ": " + why
		}
		return down.Kind.Error()
	}
	return err.Error()
}

// cause returns why a member could not be asked.
func cause(err error) string {
	if why := refusal(err); why != "" {
		return why
	}
	return whyNoAnswer(err)
}

// whyNoAnswer returns why a request had no answer, without the request and in words that need no knowledge of Go.
func whyNoAnswer(err error) string {
	failure, failed := errors.AsType[*dial.ForwardError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case failed:
		return failure.Error()
	}
	return err.Error()
}

// refusal returns why one side of a connection does not accept the other's certificate. It is "" for any other
// error.
func refusal(err error) string {
	var theirs *tls.CertificateVerificationError
	var ours tls.AlertError
	switch {
	case errors.As(err, &theirs):
		return "its certificate is not accepted: " + theirs.Err.Error()
	case errors.As(err, &ours):
		return "it does not accept our certificate: " + ours.Error()
	}
	return ""
}
