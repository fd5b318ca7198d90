package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	judge "github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Flags that require a backup. Their value is how old the data of the backup may be.
const (
	requireBackup  = "require-backup-newer-than"
	requireDrilled = "require-drilled-backup-newer-than"
)

// requirement is what one of these flags asks for.
type requirement struct {
	flag string
	age  time.Duration // 0: the flag is not given
	what string
	find func(*v1alpha1.TidbCluster, []v1alpha1.Backup) judge.Found
	how  remedy.Action // to get such a backup
}

// requirements returns the flags of the command line that require a backup.
func (o options) requirements(c topology.Cluster) []requirement {
	all := []requirement{
		{requireBackup, o.backup, "complete", judge.Of, remedy.Say("make a backup, and run the same command again")},
		{requireDrilled, o.drilled, "complete, restored by a drill", judge.DrilledOf, remedy.Run("make a backup, drill it at once, and run the same command again", remedy.Plugin(c.Namespace, "backup", "drill", c.Name))},
	}
	return slices.DeleteFunc(all, func(r requirement) bool { return r.age == 0 })
}

// whyNotBackedUp returns why an upgrade must not begin without a newer backup. It is nil where the upgrade may begin,
// and where no backup is required. An upgrade that has begun goes on: a cluster between two versions is not safer for
// that.
func (o options) whyNotBackedUp(ctx context.Context, f *factory.Factory, change intent.Change) error {
	c := topology.New(change.Now)
	required := o.requirements(c)
	if len(required) == 0 || equality.Semantic.DeepEqual(change.Now.Spec, change.Want.Spec) {
		return nil
	}
	dyn, err := f.Dynamic()
	if err != nil {
		return err
	}
	ctx, cancel := exit.Within(ctx, o.Timeout)
	defer cancel()
	for _, r := range required {
		if err := r.met(ctx, dyn, change.Now, f.Clock.Now()); err != nil {
			return exit.Ended(ctx, err)
		}
	}
	return nil
}

// met returns why a cluster has no backup that is required, nil where it has one.
func (r requirement) met(ctx context.Context, dyn dynamic.Interface, tc *v1alpha1.TidbCluster, now time.Time) error {
	c := topology.New(tc)
	without := remedy.Say("to upgrade without one, leave out --" + r.flag)
	all, err := backup.List(ctx, dyn, c.Namespace)
	if none, ok := errors.AsType[*backup.NoResourceError](err); ok {
		return remedy.For(
			exit.Refusef("whether cluster %s/%s has a backup cannot be checked: %w, which tidb-operator makes; nothing was changed", c.Namespace, c.Name, none),
			without)
	}
	if denial.Missing(err) {
		return remedy.For(
			fmt.Errorf("whether cluster %s/%s has a backup may not be read, so nothing was changed: %w", c.Namespace, c.Name, err),
			remedy.Run("see which rights this needs", remedy.Plugin(c.Namespace, "auth", "role", "upgrade")), without)
	}
	if err != nil {
		return err
	}
	lacks := r.find(tc, all.Items).Lacks(now, r.age)
	if lacks == "" {
		return nil
	}
	see := remedy.Kubectl("", "get", "backups.pingcap.com", "-A")
	if !all.Everywhere {
		lacks += "; only namespace " + c.Namespace + " may be looked in"
		see = c.Kubectl("get", "backups.pingcap.com")
	}
	if len(all.Unread) > 0 {
		lacks += "; " + strings.Join(all.Unread, "; ")
	}
	return remedy.For(
		exit.Refusef("cluster %s/%s has no full backup that is %s and newer than %s: %s; nothing was changed", c.Namespace, c.Name, r.what, r.age, lacks),
		remedy.Run("see the backups", see), r.how, without)
}
