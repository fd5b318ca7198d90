package drive

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/preview"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// merges says that an earlier change is not carried out yet, and what this change then means. Both changes are
// carried out together. A change that takes the earlier change back means just that.
func (p proposal) merges(seen state.Observation, next desired.State) []warning {
	if p.now == nil || p.Unrecorded || p.Write == nil || !p.changes() {
		return nil
	}
	seen.Cluster = *p.now
	under, w, err := underway(seen)
	if err != nil || len(under.Left) == 0 {
		return nil // nothing is known to be under way
	}
	text := fmt.Sprintf("an earlier change is not carried out yet: %s (%s); both changes are carried out together",
		strings.Join(under.Left, "; "), p.lastChange())
	if again := restartAgain(w, next, seen.Snapshot); len(again) > 0 {
		text += "; these members have restarted for it, and restart once more: " + strings.Join(again, ", ")
	}
	return []warning{{text: text, reason: event.ChangeUnderway}}
}

// changes reports whether the request changes what is asked for.
func (p proposal) changes() bool {
	return Differences(p.Now, p.Want) != "" || p.Now.Annotations[topology.AnnotationRestart] != p.Want.Annotations[topology.AnnotationRestart]
}

// lastChange says by whom the spec was changed last, and when, as far as it is recorded.
func (p proposal) lastChange() string {
	if last, recorded := topology.LastChangeOf(p.Now); recorded && last.IsLast(p.Now) {
		return "asked for by " + last.String()
	}
	if all := topology.SpecWriters(p.Now, time.Time{}); len(all) > 0 {
		return fmt.Sprintf("the spec was written by %s at %s", all[0].Manager, all[0].Time.UTC().Format(time.RFC3339))
	}
	return "it is not recorded by whom"
}

// restartAgain returns the members that have restarted in the present rollout, and restart again for the next
// change.
func restartAgain(now, next desired.State, snap state.Snapshot) []string {
	var all []string
	for _, g := range next.Groups {
		got := snap.Groups[g.Kind]
		before, _ := now.Group(g.Kind)
		rolling := slices.ContainsFunc(got.BelowReplicas(), got.Outdated)
		for _, m := range preview.Restarting(g, got) {
			if rolling && before.Current(got, m) {
				all = append(all, m.Name)
			}
		}
	}
	return all
}
