package drive

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// copiesWithin is how long PD may take to say how many regions lack copies, at the end of a run.
const copiesWithin = 5 * time.Second

// noteCopies reports at the end of a run that regions lack copies, by PD's last count. A cluster has converged although
// some do: after the loss of a store PD makes copies for hours, and it needs nobody for that. What PD does not answer is
// left out. A run that had nothing to do asks nothing, because the answer is long.
func (r run) noteCopies(ctx context.Context, p check.Prospect) {
	client := r.Observer.PD()
	stores := slices.ContainsFunc(p.Wanted.Groups, func(g desired.Group) bool { return g.Kind.Leads() })
	if client == nil || !stores || p.Plan.Outcome == plan.Converged {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, copiesWithin)
	defer cancel()
	counted, err := client.Isolation(ctx)
	if err != nil {
		return
	}
	if text, kind := lackingCopies(counted); text != "" {
		r.progress.Notice(event.RegionsLackCopies, text,
			remedy.Run("see which", plan.PDCtl(p.Wanted.Cluster, p.Snapshot, "region check "+kind)))
	}
}

// lackingCopies says how many regions have fewer copies than wanted, and of which kind they are for pd-ctl. It returns ""
// where none has. A copy that is only behind is no lack: each restart leaves some behind for seconds.
func lackingCopies(i *pd.Isolation) (text, kind string) {
	missing, down := i.Unsound["miss-peer"], i.Unsound["down-peer"]
	switch {
	case missing > 0:
		text, kind = regions(missing)+" fewer copies than wanted", "miss-peer"
		if down > 0 {
			text += ", and " + regions(down) + " a copy whose store has been silent for long"
		}
	case down > 0:
		text, kind = regions(down)+" a copy whose store has been silent for long", "down-peer"
	default:
		return "", ""
	}
	return fmt.Sprintf("%s, by PD's last count of %d; PD makes copies by itself", text, i.Regions), kind
}

func regions(n int) string {
	if n == 1 {
		return "1 region has"
	}
	return fmt.Sprintf("%d regions have", n)
}
