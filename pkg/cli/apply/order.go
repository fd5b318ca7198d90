package apply

import (
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// input is one of several TidbClusters that a command applies.
type input struct {
	*target.Session
	manifest *intent.Manifest
	request  check.Request
	effects  []string // what the user was asked about
}

// asked returns the TidbCluster as it is after the request. Where the API server refuses the request, it is that of the
// manifest.
func (i input) asked() *v1alpha1.TidbCluster {
	if i.request.Want != nil {
		return i.request.Want
	}
	return i.manifest.Cluster
}

func (i input) title() string { return target.Title(topology.New(i.asked())) }

// requestAmong returns the request with the other inputs beside it.
func (i input) requestAmong(inputs []input) check.Request {
	r := i.request
	r.Beside = nil
	for _, other := range inputs {
		if other.manifest != i.manifest {
			r.Beside = append(r.Beside, other.asked())
		}
	}
	return r
}

// inOrder returns the inputs in the order in which they are driven. The order of the manifests stays where no input
// needs another one.
func inOrder(inputs []input) (ordered []input) {
	left := slices.Clone(inputs)
	for len(left) > 0 {
		next := max(0, slices.IndexFunc(left, func(i input) bool { return !slices.ContainsFunc(left, i.comesAfter) }))
		ordered, left = append(ordered, left[next]), slices.Delete(left, next, next+1)
	}
	return ordered
}

// comesAfter reports whether another input is to be driven first. Parts need the part with PD. Where PD is to be
// suspended, the parts that use it are suspended first.
func (i input) comesAfter(other input) bool {
	mine, theirs := topology.New(i.asked()), topology.New(other.asked())
	return mine.JoinsTo(theirs) && !theirs.PDSuspended() || theirs.JoinsTo(mine) && mine.PDSuspended()
}

// waitFor reports whether two inputs wait for each other's PD. A dry run waits for nothing.
func (o options) waitFor(a, b *input) bool {
	return o.DryRun == flags.NoDryRun && topology.New(a.asked()).SharesPD(topology.New(b.asked()))
}
