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
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// requests are replacements of members that were asked for, by the names of their pods.
type requests map[string]topology.MemberReplacement

// replacement is what a request is made from.
type replacement struct {
	now     *v1alpha1.TidbCluster
	cluster topology.Cluster
	wanted  topology.Cluster // with the members whose volumes the spec has replaced without a request
	groups  map[topology.Kind]state.Group
	at      time.Time
}

// ask returns the requests for the members that are named. Requests of earlier commands that have yet to be carried
// out stay, also for a member that is named again. A spare store can be added to these.
func (o options) ask(r replacement) (requests, error) {
	asked, stores := r.waiting(), false
	needNewClaims := o.needNewClaims(r, asked)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		k, _, _ := r.cluster.Member(name)
		if o.storage == (intent.Storage{}) && slices.Contains(o.allOf, string(k)) && len(needNewClaims[k]) == 0 {
			return nil, remedy.For(exit.Refusef("%s is to be replaced already, and --all-of %s would replace members again that have new volumes; nothing was changed", name, k),
				remedy.Run("go on with what was asked for", r.cluster.Plugin("sync")))
		}
	}
	for _, name := range slices.Concat(o.members, r.allOf(o.allOf, needNewClaims)) {
		m, err := r.member(name)
		if err != nil {
			return nil, err
		}
		if _, waits := asked[m.Name]; !waits && o.has(m) {
			continue // the command is repeated, and the member has its new volumes
		}
		asked[m.Name], stores = o.request(m, asked, r.at), stores || m.Kind.Data() == topology.Store
	}
	switch {
	case stores || len(asked) == 0:
	case o.spare:
		return nil, exit.Usagef("--spare adds a store, and no store is named")
	case o.balanced != nil:
		return nil, exit.Usagef("--wait-balanced waits for the regions of stores, and no store is named")
	}
	return r.withCarriedOut(asked), nil
}

// request returns the request for a member. An earlier one that has yet to be carried out keeps its claims.
func (o options) request(m state.Member, asked requests, at time.Time) topology.MemberReplacement {
	request, waits := asked[m.Name]
	if !waits {
		request.Claims, request.At = m.ClaimUIDs(), at
	}
	if m.Kind.Data() != topology.Store {
		return request
	}
	request.Spare = request.Spare || o.spare
	if o.balanced != nil {
		request.WaitBalanced = *o.balanced
	}
	return request
}

// withCarriedOut returns requests with those that are carried out, as long as others are not. A member that waits for
// balance waits for the members of these requests.
func (r replacement) withCarriedOut(asked requests) requests {
	all, _ := topology.MemberReplacements(r.now)
	waiting := r.waiting()
	if len(waiting) == 0 || len(asked) == 0 {
		return asked
	}
	with := maps.Clone(asked)
	for name, request := range all {
		_, again := asked[name]
		if _, waits := waiting[name]; !again && !waits {
			with[name] = request
		}
	}
	return with
}

// needNewClaims returns the members of --all-of whose claims cannot become as the spec says, without members that wait
// for their replacement. Where there are some, the other members have their new volumes, and are not replaced. With
// --storage-class and --storage, these flags say what the volumes are to be.
func (o options) needNewClaims(r replacement, asked requests) map[topology.Kind][]string {
	all := map[topology.Kind][]string{}
	for _, g := range r.cluster.Groups {
		if !slices.Contains(o.allOf, string(g.Kind)) || o.storage != (intent.Storage{}) {
			continue
		}
		got := r.groups[g.Kind]
		for _, m := range got.InSet() {
			if _, waits := asked[m.Name]; !waits && g.InSpec(m.Ordinal) && (desired.Group{Group: g}).NeedsNewClaims(got, m) {
				all[g.Kind] = append(all[g.Kind], m.Name)
			}
		}
	}
	return all
}

// has reports whether the volumes of a member are as --storage-class and --storage ask for. Without these flags, the user
// asks for new volumes in any case.
func (o options) has(m state.Member) bool {
	if o.storage == (intent.Storage{}) {
		return false
	}
	return !slices.ContainsFunc(m.Claims, func(c state.Claim) bool {
		added := strings.HasPrefix(c.Template, string(m.Kind)+"-")
		other := o.storage.Class != "" && c.Class != o.storage.Class || o.storage.Size > 0 && c.Requested != o.storage.Size
		return !added && other
	})
}

// allOf returns the members of components that the user asks for.
func (r replacement) allOf(components []string, needNewClaims map[topology.Kind][]string) []string {
	var all []string
	for _, g := range r.cluster.Groups {
		if !slices.Contains(components, string(g.Kind)) {
			continue
		}
		if some := needNewClaims[g.Kind]; len(some) > 0 {
			all = append(all, some...)
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
		return m, target.UnknownMember(r.cluster, name)
	case !g.InSpec(n):
		return m, exit.Refusef("%s stands for another member, and leaves when that one is back; nothing was changed", name)
	case !there:
		return m, exit.Refusef("%s does not exist now, so there is nothing to replace; nothing was changed", name)
	case len(m.Claims) == 0:
		return m, remedy.For(exit.Refusef("%s has no claims now, so there is nothing to replace; nothing was changed", name),
			remedy.Run("restart it", r.cluster.Plugin("restart", name)))
	}
	return m, nil
}

// waiting returns the requests that have yet to be carried out. One that cannot be read is none.
func (r replacement) waiting() requests {
	left := requests{}
	all, _ := topology.MemberReplacements(r.now)
	for name, request := range all {
		if m, there := r.find(name); there && m.HasClaimOf(request.Claims) {
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

// checkReplaced fails if a member that was named has its old claims. Then another user or tool has taken the request out
// of the TidbCluster.
func checkReplaced(ctx context.Context, f *factory.Factory, s *target.Session, asked requests) error {
	seen, err := s.Observe(ctx, f)
	left, _ := asked.split(seen.Snapshot.Groups)
	if err != nil || len(left) == 0 {
		return err
	}
	again := slices.Clone(left)
	if slices.ContainsFunc(left, func(name string) bool { return asked[name].Spare }) {
		again = append(again, "--spare")
	}
	if slices.ContainsFunc(left, func(name string) bool { return asked[name].WaitBalanced }) {
		again = append(again, "--wait-balanced")
	}
	return exit.With(exit.Aborted, remedy.For(fmt.Errorf("%s was not replaced: another user or tool has taken the request out of the TidbCluster", strings.Join(left, ", ")),
		remedy.Run("ask for it again", seen.Cluster.Plugin("replace", again...))))
}

// split returns the members that have claims which their requests name, and the members that have others.
func (all requests) split(groups map[topology.Kind]state.Group) (old, replaced []string) {
	for _, g := range groups {
		for _, m := range g.Members {
			switch request, named := all[m.Name]; {
			case !named:
			case m.HasClaimOf(request.Claims):
				old = append(old, m.Name)
			default:
				replaced = append(replaced, m.Name)
			}
		}
	}
	slices.Sort(old)
	slices.Sort(replaced)
	return old, replaced
}

// takeBack takes back requests that have yet to be carried out. Without names, a store that is offline already is
// finished.
func (o options) takeBack(ctx context.Context, f *factory.Factory, s *target.Session, r replacement) error {
	taken, err := o.takes(r)
	request := check.Request{Action: "cancel of replace " + strings.Join(taken, ", "), Refusal: err}
	stay := r.waiting()
	switch {
	case err != nil:
	case len(stay) == 0:
		return drive.Unneeded(f, s, o.Options, "cancel of replace", "no member waits for its replacement, so nothing was changed")
	case len(taken) == 0: // only the member that is being replaced is left
		request.Action, request.Change = "the replacement that is under way", s.Intent.Replace(r.now, r.withCarriedOut(stay))
	default:
		before := maps.Clone(stay)
		maps.DeleteFunc(stay, func(name string, _ topology.MemberReplacement) bool { return slices.Contains(taken, name) })
		maps.DeleteFunc(before, func(name string, _ topology.MemberReplacement) bool { return !slices.Contains(taken, name) })
		request.Change = s.Intent.CancelReplace(r.now, r.withCarriedOut(stay), r.notCarriedOut(stay, len(o.members) > 0))
		request.Fulfilled = func(ctx context.Context) error { return checkKept(ctx, f, s, before) }
	}
	return drive.Run(ctx, f, s, o.Options, request)
}

// notCarriedOut returns the claim templates of components that are not as the spec says, where no request stays for any
// member. A cancel leaves the spec as these are, because a spec that no claim can follow is refused without a request.
// Without names of members, only a store that is offline stays. Its new claims are made from the templates that there are.
func (r replacement) notCarriedOut(stay requests, named bool) map[topology.Kind]map[string]topology.Volume {
	all := map[topology.Kind]map[string]topology.Volume{}
	for _, g := range r.cluster.Groups {
		stays := named && slices.ContainsFunc(slices.Collect(maps.Keys(stay)), func(name string) bool {
			k, _, _ := r.cluster.Member(name)
			return k == g.Kind
		})
		templates, differ := map[string]topology.Volume{}, false
		for name, t := range r.groups[g.Kind].Set.Volumes {
			templates[name] = topology.Volume{Name: name, Size: t.Size, Class: t.Class}
			want, ok := g.Volume(name)
			differ = differ || ok && want.Excludes(t.Class, t.Size)
		}
		if len(g.Replacements) > 0 && !stays && differ {
			all[g.Kind] = templates
		}
	}
	return all
}

// takes returns the members whose requests are taken back. It fails for a member that is named and does not wait, or
// cannot come back with the data that it has.
func (o options) takes(r replacement) ([]string, error) {
	stay := r.waiting()
	if err := o.bySpec(r); err != nil {
		return nil, err
	}
	for _, name := range o.members {
		_, waits := stay[name]
		switch m, _ := r.find(name); {
		case !waits:
			return nil, exit.Refusef("%s does not wait for its replacement; nothing was changed", name)
		case losesVolumes(m):
			return nil, remedy.For(exit.Refusef("%s has left the database, or a claim of it is being deleted, so it gets new volumes in any case; nothing was changed", name),
				remedy.Run("finish it", r.cluster.Plugin("sync")))
		}
	}
	if len(o.members) > 0 {
		return o.members, nil
	}
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(stay)) {
		if m, _ := r.find(name); m.Database.State != state.StoreOffline && !losesVolumes(m) {
			taken = append(taken, name)
		}
	}
	return taken, nil
}

// losesVolumes reports whether a member gets new volumes in any case. It has left the database, or loses a claim.
func losesVolumes(m state.Member) bool { return m.RemovalIrreversible() || m.LosesClaim() }

// bySpec fails if a member is to be replaced because the spec says so, without a request that can be taken back. It looks at
// the members that the user names, without names at all of them.
func (o options) bySpec(r replacement) error {
	stay := r.waiting()
	for _, g := range r.wanted.Groups {
		for _, name := range slices.Sorted(maps.Keys(g.Replacements)) {
			_, asked := stay[name]
			m, there := r.find(name)
			if asked || !there || !m.HasClaimOf(g.Replacements[name].Claims) || len(o.members) > 0 && !slices.Contains(o.members, name) {
				continue
			}
			what := "set spec.enablePVCReplace to false"
			if g.Kind.Status(&r.now.Status).GetVolReplaceInProgress() { // the replacement goes on with any value of that field
				what += fmt.Sprintf(", and give spec.%s the volumes that its claims have, because the status says volReplaceInProgress", g.Kind)
			}
			return remedy.For(exit.Refusef("%s is to be replaced because its volumes are not as the spec says, and no request was made for it; nothing was changed", name),
				remedy.Say(what))
		}
	}
	return nil
}

// checkKept fails if a member has lost the claims that a request named, although the request was taken back.
func checkKept(ctx context.Context, f *factory.Factory, s *target.Session, before requests) error {
	seen, err := s.Observe(ctx, f)
	_, gone := before.split(seen.Snapshot.Groups)
	if err != nil || len(gone) == 0 {
		return err
	}
	return exit.With(exit.Aborted, fmt.Errorf("%s had left the database before the request was taken back, so it has new volumes", strings.Join(gone, ", ")))
}
