package backup

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/ownpod"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/rbac"
)

const (
	roleKind, bindingKind = "Role", "RoleBinding"

	// annPrefix and annKeeps of a CronJob say where its backups are, and which ones are kept.
	annPrefix = "kubectl-tidb/in"
	annKeeps  = "kubectl-tidb/keeps"
	// attempts is how often a run is tried again where BR has not begun: another backup may be under way, or PD does not
	// answer. The pauses in between are ten minutes in all.
	attempts = 6
	// kept is how many Jobs that have ended are kept, with the logs of their pods.
	kept = 3
	// runVariable has the UID of the Job of a run, which all attempts of the run share. A later Job may have the same name.
	runVariable = "RUN"
	uidOfJob    = "controller-uid"
	// grace is how much longer a run may take than its backup, for attempts that do not begin and for old backups.
	grace = time.Hour
	// containerCreate makes the backup, and containerPrune deletes old ones.
	containerCreate = "create"
	containerPrune  = "prune"
)

// wantedSchedule is a schedule that a user asks for, with the cluster.
type wantedSchedule struct {
	scheduleOptions
	cluster topology.Cluster
	plugin  string // the image of the plugin
}

// objects returns the objects of the schedule, in the order in which they are made. They are deleted with the cluster.
func (p wantedSchedule) objects() []runtime.Object {
	const access = "rbac.authorization.k8s.io"
	owner := *metav1.NewControllerRef(p.cluster.Source, v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.TiDBClusterKind))
	meta := metav1.ObjectMeta{
		Namespace: p.cluster.Namespace, Name: p.objectName(p.cluster.Name), OwnerReferences: []metav1.OwnerReference{owner},
		Labels: map[string]string{
			topology.LabelName: "kubectl-tidb", topology.LabelComponent: "backup-schedule", topology.LabelManagedBy: "kubectl-tidb",
			backup.LabelScheduled: p.cluster.Name,
		},
	}
	verbs := []string{"backup create"}
	if p.keeps() {
		verbs = append(verbs, "backup prune")
	}
	kind := func(version, kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: version, Kind: kind} }
	return []runtime.Object{
		&rbacv1.Role{TypeMeta: kind(access+"/v1", roleKind), ObjectMeta: meta, Rules: p.rules(verbs)},
		&corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), ObjectMeta: meta},
		&rbacv1.RoleBinding{
			TypeMeta: kind(access+"/v1", bindingKind), ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: access, Kind: roleKind, Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: meta.Namespace, Name: meta.Name}},
		},
		p.cronJob(kind("batch/v1", "CronJob"), meta),
	}
}

// rules returns the rights of the pods, which run some verbs. Of the Secrets they read those that have certificates, and
// that of the bucket. The certificate of clients is named also before the cluster has TLS.
func (p wantedSchedule) rules(verbs []string) []rbacv1.PolicyRule {
	all := rbac.RulesOf(verbs...)
	secrets := []string{p.cluster.ClientSecret()}
	if p.asked.Secret != "" {
		secrets = append(secrets, p.asked.Secret)
	}
	for _, c := range topology.Certificates(p.cluster) {
		secrets = append(secrets, c.Secret)
	}
	slices.Sort(secrets)
	for i := range all {
		if slices.Contains(all[i].Resources, "secrets") {
			all[i].ResourceNames = slices.Compact(secrets)
		}
	}
	return all
}

// cronJob returns the CronJob. A run that takes too long is ended, so that it does not hold back all later ones.
func (p wantedSchedule) cronJob(kind metav1.TypeMeta, meta metav1.ObjectMeta) *batchv1.CronJob {
	meta.Annotations = map[string]string{annPrefix: p.asked.In, annKeeps: p.whichKept()}
	labels := map[string]string{topology.LabelName: "kubectl-tidb", topology.LabelComponent: "backup-schedule", backup.LabelScheduled: p.cluster.Name}
	seconds := func(d time.Duration) *int64 { return new(int64(d / time.Second)) }
	return &batchv1.CronJob{
		TypeMeta: kind, ObjectMeta: meta,
		Spec: batchv1.CronJobSpec{
			Schedule: p.cron, TimeZone: &p.zone, Suspend: &p.suspend, ConcurrencyPolicy: batchv1.ForbidConcurrent,
			StartingDeadlineSeconds:    seconds(p.startWithin),
			SuccessfulJobsHistoryLimit: new(int32(kept)), FailedJobsHistoryLimit: new(int32(kept)),
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: batchv1.JobSpec{
					BackoffLimit: new(int32(attempts)), ActiveDeadlineSeconds: seconds(p.within + grace), PodFailurePolicy: p.final(),
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: p.pod(meta.Name)},
				},
			},
		},
	}
}

// final returns which failures are final for a run. After BR has failed or was cancelled, another attempt would begin
// another backup, and have all of the deadline again. What cannot be deleted, a person has to look at.
func (p wantedSchedule) final() *batchv1.PodFailurePolicy {
	rule := func(container string, code exit.Code) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: &container, Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{int32(code)},
		}}
	}
	policy := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{rule(containerCreate, exit.Aborted)}}
	if p.keeps() {
		policy.Rules = append(policy.Rules, rule(containerPrune, exit.Refused))
	}
	return policy
}

// pod returns the pod of a run: the backup, and then the deletion of old ones.
func (p wantedSchedule) pod(account string) corev1.PodSpec {
	spec := p.cluster.Source.Spec
	pod := ownpod.Spec(account)
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.ImagePullSecrets, pod.NodeSelector, pod.Tolerations = spec.ImagePullSecrets, spec.NodeSelector, spec.Tolerations
	creates := ownpod.Container(containerCreate, p.plugin, p.createArguments()...)
	creates.Env = append(creates.Env, corev1.EnvVar{Name: runVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + uidOfJob + "']"},
	}})
	if !p.keeps() {
		pod.Containers = []corev1.Container{creates}
		return pod
	}
	pod.InitContainers = []corev1.Container{creates}
	pod.Containers = []corev1.Container{ownpod.Container(containerPrune, p.plugin, p.pruneArguments()...)}
	return pod
}

// flag returns an argument of a container. Kubernetes replaces $(NAME) in arguments.
func flag(name, value string) string { return "--" + name + "=" + strings.ReplaceAll(value, "$", "$$") }

// access returns the arguments by which both containers find the cluster and use the bucket.
func (p wantedSchedule) access() []string {
	all := []string{flag("namespace", p.cluster.Namespace), flag("in", p.asked.In)}
	for _, f := range [][2]string{{"from-secret", p.asked.Secret}, {"service-account", p.asked.Account}} {
		if f[1] != "" {
			all = append(all, flag(f[0], f[1]))
		}
	}
	return all
}

func (p wantedSchedule) createArguments() []string {
	all := append([]string{"backup", "create", p.cluster.Name}, p.access()...)
	all = append(all, "--run=$("+runVariable+")", flag("deadline", p.within.String()))
	if p.asked.Image != "" {
		all = append(all, flag("image", p.asked.Image))
	}
	if p.asked.RateLimit > 0 {
		all = append(all, flag("rate-limit", strconv.FormatUint(uint64(p.asked.RateLimit), 10)))
	}
	if p.asked.Checksum != nil {
		all = append(all, flag("checksum", strconv.FormatBool(*p.asked.Checksum)))
	}
	return all
}

func (p wantedSchedule) pruneArguments() []string {
	all := append([]string{"backup", "prune", p.cluster.Name}, p.access()...)
	if p.keep.Last > 0 {
		all = append(all, flag("keep-last", strconv.Itoa(p.keep.Last)))
	}
	if p.keep.Within > 0 {
		all = append(all, flag("keep-within", p.keep.Within.String()))
	}
	if p.rclone != "" {
		all = append(all, flag("image", p.rclone))
	}
	return append(all, "--files", "--yes")
}

func (o *scheduleOptions) keeps() bool { return o.keep.Last > 0 || o.keep.Within > 0 }

// whichKept says which backups are kept.
func (o *scheduleOptions) whichKept() string {
	var all []string
	if o.keep.Last > 0 {
		all = append(all, "the last "+strconv.Itoa(o.keep.Last))
	}
	if o.keep.Within > 0 {
		all = append(all, "those of the last "+state.Age(o.keep.Within))
	}
	if len(all) == 0 {
		return "all"
	}
	return strings.Join(all, " and ")
}
