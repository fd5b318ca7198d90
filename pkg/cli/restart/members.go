package restart

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// requests are restarts of single members that were asked for, by the names of their pods.
type requests map[string]topology.MemberRestart

// ask returns the requests for the members that are named. Requests of earlier commands that have yet to be carried
// out stay. A member without a pod needs none: its next pod is a new one.
func (o options) ask(ctx context.Context, f *factory.Factory, s *target.Session, now *v1alpha1.TidbCluster) (requests, error) {
	c := topology.New(now)
	pods, err := uids(ctx, s, c)
	if err != nil {
		return nil, err
	}
	asked := waiting(now, pods)
	for _, name := range o.members {
		pod, runs := pods[name]
		k, n, _ := c.Member(name)
		g, wanted := c.Group(k)
		switch {
		case runs:
			asked[name] = topology.MemberRestart{Pod: pod, At: f.Clock.Now()}
		case !wanted || !g.Has(n):
			return nil, target.UnknownMember(c, name)
		}
	}
	return asked, nil
}

// waiting returns the requests of a TidbCluster that have yet to be carried out. One that cannot be read is
// none.
func waiting(now *v1alpha1.TidbCluster, pods map[string]string) requests {
	left := requests{}
	all, _ := topology.MemberRestarts(now)
	for name, r := range all {
		if pods[name] == r.Pod {
			left[name] = r
		}
	}
	return left
}

// uids returns the UIDs of a cluster's pods by their names.
func uids(ctx context.Context, s *target.Session, c topology.Cluster) (map[string]string, error) {
	list, err := s.Kube.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(c.Selector()).String()})
	if err != nil {
		return nil, fmt.Errorf("list pods of cluster %s/%s: %w", c.Namespace, c.Name, err)
	}
	all := map[string]string{}
	for i := range list.Items {
		all[list.Items[i].Name] = string(list.Items[i].UID)
	}
	return all, nil
}

// restarted fails if a member that was named has not restarted. Then another user or tool has taken the request out
// of the TidbCluster.
func (o options) restarted(ctx context.Context, s *target.Session, now *v1alpha1.TidbCluster, asked requests) error {
	pods, err := uids(ctx, s, topology.New(now))
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(o.members), func(name string) bool {
		r, named := asked[name]
		return !named || pods[name] != r.Pod
	})
	if len(left) == 0 {
		return nil
	}
	return exit.With(exit.Aborted, fmt.Errorf("%s was not restarted: another user or tool has taken the request out of the TidbCluster; "+
		"run the command again to ask for it again", strings.Join(left, ", ")))
}

// takeBack takes back the requests that have yet to be carried out.
func (o options) takeBack(ctx context.Context, f *factory.Factory, s *target.Session, now *v1alpha1.TidbCluster) error {
	c := topology.New(now)
	pods, err := uids(ctx, s, c)
	if err != nil {
		return err
	}
	left := slices.Sorted(maps.Keys(waiting(now, pods)))
	if len(left) == 0 {
		return drive.Unneeded(f, s, o.Options, "cancel of restart", "no member waits for a restart by its name, so nothing was changed")
	}
	r := check.Request{Action: "cancel of restart " + strings.Join(left, ", ")}
	r.Change, r.Refusal = s.Intent.Restart(now, nil, requests{}, f.Clock.Now())
	return drive.Run(ctx, f, s, o.Options, r)
}
