package plan

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// holdForRestore holds back what takes a member of PD or a store away while BR restores data. BR writes to all stores at
// the same time, and gives the restore up if a store stays away. PD has the settings of the restore, with which it
// balances no stores. A member that does not serve is repaired: PD may have no quorum, and the restore no end, without it.
func (d *decision) holdForRestore(v verdict) verdict {
	g, restoring := d.restoreGate("")
	return d.hold(v, func(s step.Step, name string) (Gate, bool) {
		g.Member = name
		m, is := d.Got.Member(name)
		return g, restoring && TakesAway(s) && (!is || m.Up())
	})
}

// restored waits for the end of a restore.
func (s *subject) restored() verdict {
	g, restoring := s.restoreGate(s.member.Name)
	if !restoring || !s.member.Up() {
		return verdict{}
	}
	return wait(g)
}

// restoring is how long a restore may take before a person is asked to look. The command that follows a restore puts the
// settings back. Where that command was killed, they stay until somebody runs it again.
const restoring = 24 * time.Hour

// restoreGate waits until BR has ended, and PD has its settings from before. It reports whether there is such a restore.
// The TidbCluster says so from before BR starts until the settings are put back. Without PD, BR restores nothing.
func (sc Scope) restoreGate(member string) (Gate, bool) {
	data := sc.Want.Kind.Data()
	if sc.Cluster.Source == nil || data != topology.Raft && data != topology.Store {
		return Gate{}, false
	}
	was, recorded, err := backup.SettingsOf(sc.Cluster.Source)
	ofAnother := was.Cluster != 0 && was.Cluster != sc.All.PD.ClusterID // as of a TidbCluster that was copied
	if !recorded && err == nil || !sc.All.PD.Serving() || ofAnother {
		return Gate{}, false
	}
	remove := sc.Cluster.Kubectl("annotate", "tidbcluster", sc.Cluster.Name, topology.AnnotationRestore+"-")
	g := Gate{
		Component: sc.Want.Kind, Member: member, Reason: RestoreEnded, Want: "restore ended",
		Observed: "restore " + was.Restore + " began at " + was.Since.UTC().Format(time.RFC3339),
		Remedy: remedy.Remedy{
			remedy.Run("see how far it is", sc.Cluster.Kubectl("get", "job", backup.Asked{Does: backup.Restores}.JobName(*sc.Cluster))),
			remedy.Run("end it, or put the settings of PD back after a restore that was killed", sc.Cluster.Plugin("restore", "--cancel")),
		},
	}
	if err != nil {
		g.Observed, g.patience = err.Error(), Moving
		g.Remedy = remedy.Remedy{remedy.Run("if no restore runs, remove it, and compare PD's settings with those that you want", remove)}
		return g, true
	}
	g.Since, g.Deadline = was.Since, was.Since.Add(restoring)
	g.Blocked = !sc.All.At.Before(g.Deadline)
	return g, true
}
