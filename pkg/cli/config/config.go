// Package config is the verb that shows, compares and changes the configuration of members.
package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/parent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/running"
)

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return parent.New(&cobra.Command{
		Use:   "config get|diff|set NAME",
		Short: "Show, compare and change the configuration of members",
		Long: `Show, compare and change the configuration of members.

"get" shows what PD, TiKV and TiDB run with, as they say themselves. "diff" shows which
settings of the spec are not in effect, and why. "set" changes settings in the spec, or in
PD those that PD keeps itself.`,
		SuggestFor: []string{"configure", "settings", "variables"},
	}, newGet(f), newDiff(f), newSet(f))
}

// session is a cluster and what asks its members.
type session struct {
	*target.Session
	cluster topology.Cluster
	members running.Client
}

func open(ctx context.Context, f *factory.Factory, name string) (session, error) {
	s, tc, err := target.Load(ctx, f, []string{name})
	if err != nil {
		return session{}, err
	}
	o := session{Session: s, cluster: topology.New(tc)}
	o.members.HTTP, o.members.Scheme = s.Observer.HTTP(ctx, o.cluster)
	return o, nil
}

// member is a member that is asked.
type member struct {
	topology.Kind
	ordinal int
	name    string
}

// choose returns the members that an argument names: all members of a component, or a single member. For "" it
// returns all members that show their configuration. ok is false for an argument that names no member.
func (s session) choose(arg string) (all []member, ok bool) {
	kind, ordinal, named := s.cluster.Named(arg)
	for _, g := range s.cluster.Groups {
		for _, n := range g.Ordinals().All() { // with the members that a failover has added
			if named && kind == g.Kind && (ordinal == topology.Every || ordinal == n) || arg == "" && running.Shown(g.Kind) {
				all = append(all, member{g.Kind, n, s.cluster.PodName(g.Kind, n)})
			}
		}
	}
	return all, named && ordinal == topology.Every || len(all) > 0
}

// ask returns the configuration that a member runs with.
func (s session) ask(ctx context.Context, m member) (map[string]any, error) {
	return s.members.Settings(ctx, m.Kind, s.cluster.PodHost(m.Kind, m.ordinal))
}

// firstAnswer returns the configuration of the first member of a component that answers, and the host.
func (s session) firstAnswer(ctx context.Context, k topology.Kind) (settings map[string]any, host string, err error) {
	all, _ := s.choose(string(k))
	err = exit.Refusef("cluster %s/%s has no members of %s", s.cluster.Namespace, s.cluster.Name, k.Title())
	for _, m := range all {
		if settings, err = s.ask(ctx, m); err == nil {
			return settings, s.cluster.PodHost(k, m.ordinal), nil
		}
		if errors.Is(err, running.ErrNotShown) || ctx.Err() != nil {
			break
		}
	}
	return nil, "", err
}

// text returns a value as a person reads it.
func text(v any, there bool) string {
	switch v := v.(type) {
	case string:
		return v
	case nil:
		if there {
			return `""`
		}
		return ""
	case float64, bool, int64:
		return fmt.Sprint(v)
	}
	return toJSON(v)
}

func toJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}
