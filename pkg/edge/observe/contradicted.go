package observe

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tiflash"
)

// A member that PD does not list is absent, so that the cluster does not use its data. But PD may list the member
// under an address that is not the address of its pod, as advertise-addr in a configuration makes it. Such a member
// serves, and a restart without an eviction would take its leaders away. So a member is unknown, and not absent, while
// its own port contradicts that it is absent. A member is unknown, too, while PD lists a store whose pod is not known.
// The same holds while the label of the member's claim names a store that PD lists.

// unlisted returns what is known of a member of which PD lists no address. A pod that has never run cannot be in PD.
func (d database) unlisted(k topology.Kind, pod *state.Pod) state.Database {
	others := d.unplaced[k]
	if len(others) == 0 || pod == nil || !pod.Ran {
		return state.Database{Presence: state.Absent}
	}
	return state.Database{Problem: fmt.Sprintf("PD lists no store at the address of its pod, and one at %s, which is the address of no pod", others[0].address)}
}

// heldByClaims makes members unknown that seem absent although their claims have the label of a certain store. PD
// lists such a store under the address of no pod. Without that a member whose pod is missing for a moment would
// count as one whose data nobody uses. A scale-in would then mark the claim of that member for deletion.
func (d database) heldByClaims(members []state.Member) {
	for i := range members {
		m := &members[i]
		for _, s := range d.unplaced[m.Kind] {
			if m.Database.Presence == state.Absent && m.Database.Problem == "" && labelled(m.Claims, s.id) {
				m.Database.Presence = state.Unknown
				m.Database.Problem = fmt.Sprintf("its claim has the label of store %d, which PD lists at %s, the address of no pod", s.id, s.address)
			}
		}
	}
}

// labelled reports whether a claim has the label of a store.
func labelled(claims []state.Claim, id uint64) bool {
	return slices.ContainsFunc(claims, func(c state.Claim) bool {
		return c.Identity.Labels[topology.LabelStoreID] == strconv.FormatUint(id, 10)
	})
}

// noteUnplaced notes a store whose address is the address of no pod. Stores of other TidbClusters have pods.
func (d database) noteUnplaced(s *pd.Store) {
	k, host := componentOf(s), hostOf(s)
	if s.State != pd.StoreTombstone && !topology.IsPodHost(host) {
		d.unplaced[k] = append(d.unplaced[k], unplaced{id: s.ID, address: s.Address})
	}
}

// componentOf returns the component that a store says it is of.
func componentOf(s *pd.Store) topology.Kind {
	if s.Columnar() {
		return topology.TiFlash
	}
	return topology.TiKV
}

func hostOf(s *pd.Store) string {
	host, _, _ := strings.Cut(s.Address, ":")
	return host
}

// listsNone reports whether PD answers and lists no address of a member, whose process may run.
func listsNone(m *state.Member) bool {
	d := m.Database
	return runs(m) && (d.Presence == state.Absent || d.Presence == state.Unknown && d.Problem != "")
}

// askUnlistedStore asks a store that PD does not list. A store without regions has joined no cluster.
func (o *Observer) askUnlistedStore(ctx context.Context, c topology.Cluster, m *state.Member) {
	n, err := o.tikv.Counts(ctx, c.PodHost(m.Kind, m.Ordinal))
	d := &m.Database
	switch d.Answer = answerOf(err); {
	case err != nil:
	case n.Regions == 0:
		*d = state.Database{Presence: state.Absent}
	default:
		*d = state.Database{Problem: fmt.Sprintf("PD lists no store at the address of its pod, and the store itself counts %d regions", n.Regions)}
	}
}

// askUnlistedTiFlash does the same for a store of TiFlash. It calls itself running when it has joined.
func askUnlistedTiFlash(ctx context.Context, client tiflash.Client, c topology.Cluster, m *state.Member) {
	is, err := client.State(ctx, c.PodHost(m.Kind, m.Ordinal))
	switch d := &m.Database; {
	case err != nil:
		d.Answer = answerOf(err)
	case is == tiflash.Running:
		*d = state.Database{Problem: "PD lists no store at the address of its pod, and TiFlash itself reports that it is running"}
	}
}

// askUnlistedMember asks a process of PD at whose address PD lists no member. A process that follows a leader is in a
// quorum, unless PD has removed the process.
func (o *Observer) askUnlistedMember(ctx context.Context, c topology.Cluster, m *state.Member) {
	own, err := pd.AskRaft(ctx, o.http, c.MemberURL(m.Kind, m.Ordinal, topology.PDClientPort))
	switch d := &m.Database; {
	case err != nil:
		d.Answer = answerOf(err)
	case own.Leader != 0 && !o.removed(ctx, own):
		*d = state.Database{Problem: "PD lists no member at the address of its pod, and the process itself follows a leader"}
	}
}

// removed reports whether a process of PD is no member of the quorum that it names the leader of. The etcd of a
// removed process stops, and its status may have the leader for ever that the process followed last. This was seen
// for ten minutes with PD v8.1.0, where the process had joined seconds before. PD is asked after the process,
// because a process that joins between the two requests would seem removed.
func (o *Observer) removed(ctx context.Context, own pd.Raft) bool {
	if o.pd == nil {
		return false
	}
	now, err := o.pd.Members(ctx)
	lists := func(id uint64) bool {
		return slices.ContainsFunc(now.Members, func(m pd.Member) bool { return m.ID == id })
	}
	return err == nil && lists(own.Leader) && !lists(own.Member)
}
