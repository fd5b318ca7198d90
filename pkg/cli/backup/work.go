package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/dynamic"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

const (
	// again is the pause between two looks at a Job.
	again = time.Second
	// hopeless is how long a pod may wait for an image or a Secret that is not there, or to be made against a policy.
	hopeless = 2 * time.Minute
	// cleaning bounds what is done after the end of a Job. A pod gets half a minute to end.
	cleaning = 2 * time.Minute
)

// work is what a verb needs that has BR or rclone work in a Job.
type work struct {
	f       *factory.Factory
	session *target.Session
	cluster topology.Cluster
	dyn     dynamic.Interface
	jobs    edge.Jobs
	pd      func(context.Context) (pd.Client, error) // fails where PD does not answer
	values  []string                                 // of the Secret, which are shown nowhere
}

// connect connects to a cluster. The caller closes the session.
func connect(ctx context.Context, f *factory.Factory, name []string) (work, error) {
	s, c, err := target.Cluster(ctx, f, name)
	if err != nil {
		return work{}, err
	}
	dyn, err := f.Dynamic()
	if err != nil {
		s.Close()
		return work{}, err
	}
	w := work{
		f: f, session: s, cluster: c, dyn: dyn,
		jobs: edge.Jobs{Kube: s.Kube, Namespace: c.Namespace, Pause: again, Outage: drive.Outage},
	}
	w.pd = w.observePD
	return w, nil
}

// connectBeside connects to the cluster beside which a pod works for a Backup: that of the Backup, where the user names
// none. The caller closes the session.
func connectBeside(ctx context.Context, f *factory.Factory, b *v1alpha1.Backup, named string) (work, error) {
	cluster := named
	switch {
	case named != "":
	case b.Spec.BR == nil || b.Spec.BR.Cluster == "":
		return work{}, exit.Usagef("backup %s does not say of which cluster it is: name one with --cluster; nothing was changed", b.Name)
	default:
		cluster = b.Spec.BR.Cluster
	}
	on, err := connect(ctx, f, []string{cluster})
	if _, gone := errors.AsType[*intent.NotFoundError](err); gone {
		return work{}, remedy.For(err, remedy.Say("name a cluster of this namespace with --cluster"))
	}
	return on, err
}

// end deletes a Job that has ended.
func (w *work) end(ctx context.Context, job *batchv1.Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	return w.jobs.Delete(ctx, job)
}

// stuckError says that BR or rclone cannot start.
type stuckError struct {
	text  string
	cause backup.Cause
}

func (e *stuckError) Error() string { return "its pod cannot start: " + e.text }

// watch follows a Job to its end, and shows how far BR is. It returns the last view. It fails with a *stuckError where BR
// cannot start.
func (w *work) watch(ctx context.Context, of *batchv1.Job) (edge.View, error) {
	on, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	screen := open(w.f)
	defer screen.close()
	var stuck time.Time
	return w.jobs.Follow(on, of, func(v edge.View) {
		text, cause := backup.Waits(v.Pod, v.Refusal)
		switch {
		case !cause.NeedsPerson():
			stuck = time.Time{}
		case stuck.IsZero():
			stuck = w.session.Now()
		case w.session.Now().Sub(stuck) > hopeless:
			stop(&stuckError{text, cause})
		}
		screen.progress(v, text)
	})
}

// readCredentials reads the Secret, and returns what is wrong with it.
func (w *work) readCredentials(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	values, lacks, err := edge.Credentials(ctx, w.session.Kube, w.cluster.Namespace, name)
	if err != nil {
		return err
	}
	w.values = values
	if lacks == "" {
		return nil
	}
	see := w.cluster.Kubectl("describe", "secret", name)
	if strings.HasPrefix(lacks, "there is no") {
		see = w.cluster.Kubectl("get", "secrets")
	}
	return remedy.For(exit.Refusef("%s, so there are no credentials for the bucket: they are the keys %s and %s; nothing was changed", lacks, backup.KeyAccess, backup.KeySecret),
		remedy.Run("see what is there", see))
}

// hide has the values of a Secret shown nowhere. Without the Secret a backup that is under way goes on.
func (w *work) hide(ctx context.Context, name string) {
	if name != "" {
		w.values, _, _ = edge.Credentials(ctx, w.session.Kube, w.cluster.Namespace, name)
	}
}

// observePD returns a client of the cluster's PD.
func (w *work) observePD(ctx context.Context) (pd.Client, error) {
	seen, err := w.session.Observe(ctx, w.f)
	switch {
	case err != nil:
		return nil, err
	case seen.Snapshot.PD.Problem != "" || w.session.Observer.PD() == nil:
		return nil, fmt.Errorf("PD of %s cannot be asked: %s", target.Title(w.cluster), seen.Snapshot.PD.Problem)
	}
	return w.session.Observer.PD(), nil
}

// endSafePoint deletes the safepoint of BR, which has ended.
func (w *work) endSafePoint(ctx context.Context, log backup.Log) error {
	if log.SafePoint == "" {
		return nil
	}
	client, err := w.pd(ctx)
	if err == nil {
		var had bool
		if had, err = edge.EndSafePoint(ctx, client, log.SafePoint); had && err == nil {
			fmt.Fprintf(w.f.Streams.ErrOut, "service safepoint %s is deleted in PD\n", log.SafePoint)
		}
	}
	if err != nil {
		return fmt.Errorf("service safepoint %s may be left in PD, which deletes it within five minutes by itself: %w", log.SafePoint, err)
	}
	return nil
}

// request returns what a Job is to do.
func (w *work) request(asked backup.Asked, at backup.Destination) backup.Request {
	name := backup.Name(w.cluster, w.session.Now())
	if asked.In != "" {
		at.Prefix += "/" + name
		asked.URL = at.URL()
	}
	return backup.Request{Cluster: w.cluster, Asked: asked, Destination: at, Name: name, Tool: asked.Tool(w.cluster)}
}

// refuse refuses what no Job can do.
func (w *work) refuse(ctx context.Context, request backup.Request) error {
	c := w.cluster
	switch {
	case c.Deleting:
		return exit.Refusef("%s is being deleted, so nothing was changed", target.Title(c))
	case request.Tool == "":
		return exit.Refusef("the version of TiKV of %s is not known, as its image has no tag: give an image with --image; nothing was changed", target.Title(c))
	case request.Secret == "" && request.Account == "":
		return remedy.For(exit.Usagef("there are no credentials for %s: give a Secret with --from-secret, or a ServiceAccount with --service-account; nothing was changed", request.Path()),
			remedy.Run("see the secrets of the namespace", c.Kubectl("get", "secrets")))
	}
	return w.readCredentials(ctx, request.Secret)
}

// scope sets what --table asks for, which has its database.
func scope(asked *backup.Asked, table string) (err error) {
	switch {
	case table == "":
		return nil
	case asked.DB != "":
		return exit.Usagef("--db does not go with --table: give the database as part of the table, as in --table %s.TABLE", asked.DB)
	}
	if asked.DB, asked.Table, err = backup.SplitTable(table); err != nil {
		return exit.Usagef("--table: %w", err)
	}
	return nil
}

// foreign refuses a Job that has the name of a Job of ours. What is the work that such a Job does.
func (w *work) foreign(job *batchv1.Job, what string) error {
	return remedy.For(exit.Refusef("job %s of namespace %s is in the way: no %s of this plugin has made it; nothing was changed", job.Name, job.Namespace, what),
		remedy.Run("see what it is", w.cluster.Kubectl("describe", "job", job.Name)))
}

// agreesToCancel asks the user after Ctrl-C whether the work of BR is to end. Where nobody can be asked, it goes on.
func (w *work) agreesToCancel(ctx context.Context, question string) bool {
	return w.f.CanAsk() && consent.Whether(context.WithoutCancel(ctx), w.f, question)
}

// endedMeanwhile returns a Job that has ended while the user was asked, else nil. Its result must not be thrown away.
func (w *work) endedMeanwhile(ctx context.Context, job *batchv1.Job) *batchv1.Job {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	now, err := w.jobs.Find(ctx, job.Name)
	if err != nil || now == nil || now.UID != job.UID {
		return nil
	}
	if ended, _ := backup.Ended(now); !ended {
		return nil
	}
	fmt.Fprintf(w.f.Streams.ErrOut, "%s has ended meanwhile\n", backup.NameOf(job))
	return now
}

// requestOf returns what a Job of ours was asked for.
func (w *work) requestOf(job *batchv1.Job) (backup.Request, error) {
	asked, _ := backup.AskedOf(job)
	d, err := backup.ParseDestination(asked.URL)
	if err != nil { // somebody has changed the Job, or another version has made it
		return backup.Request{}, remedy.For(exit.Refusef("job %s has a place that cannot be used: %w; nothing was changed", job.Name, err),
			remedy.Run("see what it is", w.cluster.Kubectl("describe", "job", job.Name)))
	}
	return backup.Request{Cluster: w.cluster, Asked: asked, Destination: d, Name: backup.NameOf(job), Tool: backup.ToolOf(job)}, nil
}

// previewJob says which Job would be made.
func (w *work) previewJob(ctx context.Context, request backup.Request, dryRun flags.DryRun) error {
	job := request.Job()
	by := "client"
	if dryRun == flags.ServerDryRun {
		by = "server"
		if _, err := w.jobs.Create(ctx, job, true); err != nil {
			return err
		}
	}
	fmt.Fprintf(w.f.Streams.Out, "job.batch/%s would be created (%s dry run)\n  image: %s\n  arguments of %s: %s\n",
		job.Name, by, request.Tool, request.Program(), strings.Join(request.Arguments(), " "))
	return nil
}

// advice returns what a person can do about the cause of a failure.
func (w *work) advice(request backup.Request, text string, cause backup.Cause) (actions []remedy.Action) {
	c := w.cluster
	switch cause {
	case backup.Storage, backup.NoSecret:
		if request.Secret != "" {
			actions = append(actions, remedy.Run("see which keys the Secret has", c.Kubectl("describe", "secret", request.Secret)))
		}
		actions = append(actions, remedy.Say("check the bucket, the endpoint and the credentials"))
	case backup.Version, backup.NoImage:
		actions = append(actions, remedy.Say("give an image of "+request.Program()+" that fits with --image"))
	case backup.Gone:
		actions = append(actions, remedy.Say("check the prefix"))
	case backup.Empty:
		actions = append(actions, remedy.Run("see the databases", c.Plugin("sql", "-e", "SHOW DATABASES")))
	case backup.NoPod:
		refused, _ := denial.OfText(text)
		actions = append(actions, refused.Advice(c.Namespace)...)
	case backup.NoMemory:
		actions = append(actions, remedy.Run("see what the namespace allows", c.Kubectl("describe", "limitranges,resourcequotas")))
	}
	return actions
}
