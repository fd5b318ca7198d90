package replace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// requests are replacements of members that were asked for, by the names of their pods.
type requests map[string]topology.MemberReplacement

// replacement is what a request is made from.
type replacement struct {
	now     *v1alpha1.TidbCluster
	cluster topology.Cluster
	groups  map[topology.Kind]state.Group
	at      time.Time
}

// ask returns the requests for the members that are named. Requests of earlier commands that have yet to be carried
// out stay. A member that is named again keeps its earlier request, but for the spare store.
func (o options) ask(r replacement) (requests, error) {
	asked := r.waiting()
	for _, name := range slices.Concat(o.members, r.allOf(o.allOf)) {
		m, err := r.member(name)
		if err != nil {
			return nil, err
		}
		request := topology.MemberReplacement{At: r.at, Spare: o.spare && m.Kind.Data() == topology.Store}
		for _, c := range m.Claims {
			request.Claims = append(request.Claims, c.UID)
		}
		asked[m.Name] = request
	}
	return asked, nil
}

// allOf returns the members of components that the user asks for.
func (r replacement) allOf(components []string) []string {
	var all []string
	for _, g := range r.cluster.Groups {
		if !slices.Contains(components, string(g.Kind)) {
			continue
		}
		for _, n := range g.Ordinals().All() {
			if g.InSpec(n) {
				all = append(all, r.cluster.PodName(g.Kind, n))
			}
		}
	}
	return all
}

// member returns a member that can be replaced.
func (r replacement) member(name string) (state.Member, error) {
	k, n, _ := r.cluster.Member(name)
	g, wanted := r.cluster.Group(k)
	m, there := r.groups[k].Member(name)
	switch {
	case !wanted || !g.Has(n):
		return m, exit.Usagef("cluster %s/%s has no member %s", r.cluster.Namespace, r.cluster.Name, name)
	case k.Data() == topology.None:
		return m, remedy.For(exit.Refusef("%s has no data of its own, so it is restarted and not replaced; nothing was changed", name),
			remedy.Run("restart it", r.cluster.Plugin("restart", name)))
	case !g.InSpec(n):
		return m, exit.Refusef("%s stands for another member, and leaves when that one is back; nothing was changed", name)
	case !there || len(m.Claims) == 0:
		return m, exit.Refusef("%s has no claims, so it gets new ones anyway; nothing was changed", name)
	}
	return m, nil
}

// waiting returns the requests that have yet to be carried out. One that cannot be read is none.
func (r replacement) waiting() requests {
	left := requests{}
	all, _ := topology.MemberReplacements(r.now)
	for name, request := range all {
		if m, there := r.find(name); there && holds(m, request) {
			left[name] = request
		}
	}
	return left
}

func (r replacement) find(name string) (state.Member, bool) {
	k, _, ok := r.cluster.Member(name)
	if !ok {
		return state.Member{}, false
	}
	return r.groups[k].Member(name)
}

// holds reports whether a member still has a claim that a request names.
func holds(m state.Member, request topology.MemberReplacement) bool {
	return slices.ContainsFunc(m.Claims, func(c state.Claim) bool { return slices.Contains(request.Claims, c.UID) })
}

// replaced fails if a member that was named has its old claims. Then another user or tool has taken the request out of
// the TidbCluster.
func replaced(ctx context.Context, f *factory.Factory, s *target.Session, asked requests) error {
	seen, err := s.Observe(ctx, f)
	if err != nil {
		return err
	}
	var left []string
	for _, g := range seen.Snapshot.Groups {
		for _, m := range g.Members {
			if request, named := asked[m.Name]; named && holds(m, request) {
				left = append(left, m.Name)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	return exit.With(exit.Aborted, fmt.Errorf("%s was not replaced: another user or tool has taken the request out of the TidbCluster; "+
		"run the command again to ask for it again", strings.Join(left, ", ")))
}

// takeBack takes back requests that have yet to be carried out. Without names, a store that leaves already is finished.
func (o options) takeBack(ctx context.Context, f *factory.Factory, s *target.Session, r replacement) error {
	stay := r.waiting()
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(stay)) {
		m, _ := r.find(name)
		named := slices.Contains(o.members, name)
		if named || len(o.members) == 0 && m.Database.State != state.StoreOffline {
			taken = append(taken, name)
		}
	}
	if len(taken) == 0 {
		return drive.Unneeded(f, s, o.Options, "cancel of replace", "no member waits for its replacement, so nothing was changed")
	}
	for _, name := range taken {
		delete(stay, name)
	}
	return drive.Run(ctx, f, s, o.Options, check.Request{
		Action: "cancel of replace " + strings.Join(taken, ", "), Change: s.Intent.Replace(r.now, stay),
	})
}
