package rollback

import (
	"context"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// CancelScale takes back a scale that is under way, as abort does, and refuses to take back anything else. A person
// who means a scale must not lose an upgrade.
func CancelScale(ctx context.Context, f *factory.Factory, with flags.Options, name []string) error {
	return stop(ctx, f, options{Options: with, name: name}, "cancel", noScale)
}

// noScale refuses what is under way if it is no scale.
func noScale(now *v1alpha1.TidbCluster, under check.Underway) error {
	last, recorded := topology.LastChangeOf(now)
	_, only := last.Replicas()
	if !recorded || !last.IsLast(now) || only && under.Scales {
		return nil // without a record nothing can be taken back, which is said there
	}
	return remedy.For(
		exit.Refusef("what is under way in cluster %s/%s is no scale that a command has begun (%s), so nothing was changed; the last change is %s",
			now.Namespace, now.Name, strings.Join(under.Left, "; "), last),
		remedy.Run("take back the last change, whatever it is", topology.New(now).Plugin("abort")))
}
