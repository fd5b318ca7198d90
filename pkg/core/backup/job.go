package backup

import (
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	// ContainerBR is the container in which BR saves or restores. ContainerResult reads the backup: after BR has saved it,
	// and before BR restores it. BR may end with success without a backup, as after SIGTERM, so that its exit code is no proof.
	ContainerBR     = "br"
	ContainerResult = "result"

	// These labels have the name of the Backup that a Job makes, of a restore, a verification, or work on files.
	LabelBackup       = "tidb.pingcap.com/backup"
	LabelRestore      = "tidb.pingcap.com/restore"
	LabelVerification = "kubectl-tidb/verification"
	LabelFiles        = "kubectl-tidb/files"
	// annAsked has what the Job was asked for.
	annAsked = "kubectl-tidb/backup"

	// KeyAccess and KeySecret are the keys of a Secret with credentials for S3, as tidb-operator reads them.
	KeyAccess = "access_key"
	KeySecret = "secret_key"

	program          = "/br"
	repository       = "pingcap/br"
	certificates     = "cluster-client-tls"
	certificateMount = "/var/lib/cluster-client-tls"
	writesLogOut     = "BR_LOG_TO_TERM" // BR looks only whether it is set
	component        = "backup"
	backedUpBy       = "kubectl-tidb"
	timeInName       = "20060102-150405"
)

// Work is what BR does in a Job.
type Work string

// The kinds of work.
const (
	Saves    Work = "" // the data of a cluster goes into a bucket
	Restores Work = "restore"
	Verifies Work = "verify" // BR reads all files of a backup, and compares their sums
	Lists    Work = "list"   // rclone lists the files that say which backups are at a place
	Deletes  Work = "delete" // rclone deletes the files of a backup
)

// job is how a Job does a kind of work.
type job struct {
	words  []string // the first arguments of BR; none where rclone does the work
	label  string   // which label of the Job and its pod has the name
	suffix string   // of the name of the Job
	// A container reads the timestamp of the backup, before BR or after BR.
	readsFirst, readsLast bool
	asksPD                bool
	waits                 bool // until PD's settings are recorded
}

// The Jobs of tidb-operator begin with "backup-" and "restore-".
var kinds = map[Work]job{
	Saves:    {words: []string{"backup"}, label: LabelBackup, suffix: "-br-backup", readsLast: true, asksPD: true},
	Restores: {words: []string{"restore"}, label: LabelRestore, suffix: "-br-restore", readsFirst: true, asksPD: true, waits: true},
	Verifies: {words: []string{"debug", "checksum"}, label: LabelVerification, suffix: "-br-verify"},
	Lists:    {label: LabelFiles, suffix: "-files-list"},
	Deletes:  {label: LabelFiles, suffix: "-files-delete"},
}

// JobName returns the name of the Job that does what is asked for. All backups of a cluster have the same, and so have all
// restores, so that the API server refuses two at a time.
func (a Asked) JobName(c topology.Cluster) string { return c.Name + kinds[a.Does].suffix }

// Name returns the name of a backup or a restore of a cluster that begins at a time.
func Name(c topology.Cluster, at time.Time) string { return c.Name + "-" + at.UTC().Format(timeInName) }

// Image returns the image of BR that fits a cluster, "" where the version of its TiKV is not known.
func Image(c topology.Cluster) string {
	version := c.Source.Spec.Version
	if g, ok := c.Group(topology.TiKV); ok {
		version = g.Version
	}
	if version == "" {
		return ""
	}
	return repository + ":" + version
}

// Tool returns the image that does what is asked for, "" where it has no known release.
func (a Asked) Tool(c topology.Cluster) string {
	switch {
	case a.Image != "":
		return a.Image
	case a.Program() == rclone:
		return FilesImage
	}
	return Image(c)
}

// Request is a backup, a restore, a verification or a deletion that is to be made.
type Request struct {
	Cluster topology.Cluster
	Asked
	Destination
	Name string // of the Backup, the restore, the verification or the deletion
	Tool string // the image of BR or of rclone
}

// Job returns the Job that does it.
func (r Request) Job() *batchv1.Job {
	c := r.Cluster
	labels := map[string]string{
		topology.LabelName: component, topology.LabelManagedBy: backedUpBy, topology.LabelInstance: c.Instance,
		topology.LabelComponent: component, kinds[r.Does].label: r.Name,
	}
	none := int32(0)
	var deadline *int64
	if r.Deadline > 0 {
		deadline = &r.Deadline
	}
	waits := kinds[r.Does].waits
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: r.JobName(c), Labels: labels, Annotations: map[string]string{annAsked: r.text()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c.Source, v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.TiDBClusterKind))},
		},
		Spec: batchv1.JobSpec{
			Suspend:               &waits,
			ActiveDeadlineSeconds: deadline,
			BackoffLimit:          &none, // a second attempt would find the lock of the first one in the bucket
			Template:              corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: r.pod()},
		},
	}
}

func (r Request) pod() corev1.PodSpec {
	spec := r.Cluster.Source.Spec
	usesAccount := r.Account != ""
	containers := r.containers()
	last := len(containers) - 1
	pod := corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		InitContainers:               containers[:last],
		Containers:                   containers[last:],
		ServiceAccountName:           r.Account,
		AutomountServiceAccountToken: &usesAccount, // BR needs no API server, but some clouds give an identity by it
		ImagePullSecrets:             spec.ImagePullSecrets,
		NodeSelector:                 spec.NodeSelector,
		Tolerations:                  spec.Tolerations,
		SecurityContext:              spec.PodSecurityContext,
	}
	if r.Cluster.TLS.Members && kinds[r.Does].asksPD {
		pod.Volumes = []corev1.Volume{{Name: certificates, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: r.Cluster.ClientSecret()},
		}}}
	}
	return pod
}

// containers returns the containers of the pod, which run one after another.
func (r Request) containers() []corev1.Container {
	kind := kinds[r.Does]
	switch r.Does {
	case Lists:
		here := r.container(ContainerResult, rclone, r.Arguments())
		if above, may := r.folderAbove(); may {
			flags := append([]string{"--max-depth=1"}, included([]string{metaFile, lockFile})...)
			return []corev1.Container{r.container(ContainerFiles, rclone, r.list(above, flags...)), here}
		}
		return []corev1.Container{here}
	case Deletes:
		return []corev1.Container{r.container(ContainerFiles, rclone, r.Arguments()), r.container(ContainerResult, rclone, r.list(r.Prefix))}
	}
	br, reads := r.container(ContainerBR, program, r.Arguments()), r.container(ContainerResult, program, r.readArguments())
	switch {
	case kind.readsFirst:
		return []corev1.Container{reads, br}
	case kind.readsLast:
		return []corev1.Container{br, reads}
	}
	return []corev1.Container{br}
}

func (r Request) container(name, program string, arguments []string) corev1.Container {
	c := corev1.Container{
		Name: name, Image: r.Tool, ImagePullPolicy: r.Cluster.Source.Spec.ImagePullPolicy,
		Command: []string{program}, Args: arguments, Env: []corev1.EnvVar{{Name: writesLogOut, Value: "1"}},
	}
	if r.Region != "" {
		c.Env = append(c.Env, corev1.EnvVar{Name: "AWS_REGION", Value: r.Region})
	}
	if r.Secret != "" {
		for _, from := range [][2]string{{"AWS_ACCESS_KEY_ID", KeyAccess}, {"AWS_SECRET_ACCESS_KEY", KeySecret}} {
			c.Env = append(c.Env, corev1.EnvVar{Name: from[0], ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: r.Secret}, Key: from[1],
			}}})
		}
	}
	if r.Cluster.TLS.Members && kinds[r.Does].asksPD {
		c.VolumeMounts = []corev1.VolumeMount{{Name: certificates, MountPath: certificateMount, ReadOnly: true}}
	}
	return c
}

// Program returns the name of what does the work.
func (a Asked) Program() string {
	if len(kinds[a.Does].words) == 0 {
		return rclone
	}
	return "BR"
}

// Arguments are the arguments with which BR or rclone works. Only flags are used that releases of BR of 2020 know as well.
func (r Request) Arguments() []string {
	kind := kinds[r.Does]
	switch {
	case r.Does == Lists:
		return r.list(r.Prefix, included([]string{metaFile, lockFile})...)
	case r.Does == Deletes:
		return r.rclone("delete", r.Prefix, included(ofBR))
	case !kind.asksPD:
		return append(slices.Clone(kind.words), r.flags()...)
	}
	what := "full"
	switch {
	case r.Table != "":
		what = "table"
	case r.DB != "":
		what = "db"
	}
	all := append(slices.Clone(kind.words), what, "--pd="+r.Cluster.PDEndpoints())
	all = append(all, r.flags()...)
	if r.DB != "" {
		all = append(all, "--db="+r.DB)
	}
	if r.Table != "" {
		all = append(all, "--table="+r.Table)
	}
	if r.RateLimit > 0 {
		all = append(all, "--ratelimit="+strconv.FormatUint(uint64(r.RateLimit), 10))
	}
	if r.Checksum != nil {
		all = append(all, "--checksum="+strconv.FormatBool(*r.Checksum))
	}
	if r.Cluster.TLS.Members {
		for _, file := range [][2]string{{"ca", topology.KeyCA}, {"cert", topology.KeyCertificate}, {"key", topology.KeyPrivate}} {
			all = append(all, "--"+file[0]+"="+path.Join(certificateMount, file[1]))
		}
	}
	return all
}

// readArguments are the arguments with which BR prints the timestamp of the backup that it finds at the destination.
func (r Request) readArguments() []string {
	return append([]string{"debug", "decode", "--field=end-version"}, r.flags()...)
}

// Of a Job that exists.

// AskedOf returns what a Job was asked for; not ok for a Job that no version of this plugin has made.
func AskedOf(job *batchv1.Job) (Asked, bool) { return readAsked(job.Annotations[annAsked]) }

// nameOf returns the label of a Job that has the name of its backup, restore, verification or work on files.
func nameOf(job *batchv1.Job) (label, name string) {
	for _, kind := range kinds {
		if name := job.Labels[kind.label]; name != "" {
			return kind.label, name
		}
	}
	return LabelBackup, job.Name
}

// NameOf returns the name of what a Job does: of the Backup, the restore, the verification, or the work on files.
func NameOf(job *batchv1.Job) string {
	_, name := nameOf(job)
	return name
}

// PodsOf returns the selector of the pods of a Job.
func PodsOf(job *batchv1.Job) string {
	label, name := nameOf(job)
	return label + "=" + name
}

// IsSuspended reports whether a Job waits until PD's settings are recorded, or somebody has suspended it.
func IsSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// ToolOf returns the image that a Job has.
func ToolOf(job *batchv1.Job) string {
	if all := job.Spec.Template.Spec.Containers; len(all) > 0 { // all have the same
		return all[0].Image
	}
	return ""
}

// ProgramOf returns the name of what does the work of a Job.
func ProgramOf(job *batchv1.Job) string {
	asked, _ := AskedOf(job)
	return asked.Program()
}

// IsForSameFiles reports whether a Job does the same with the files of the same Backup, with whatever credentials.
func IsForSameFiles(job *batchv1.Job, a Asked) bool {
	was, _ := AskedOf(job)
	return was.Does == a.Does && was.UID == a.UID && was.URL == a.URL
}

// IsSame reports whether a Job was asked for the same. The folder that a backup gets in a prefix is named when its Job is
// made.
func IsSame(job *batchv1.Job, a Asked) bool {
	was, ok := AskedOf(job)
	if a.In != "" {
		a.URL = was.URL
	}
	return ok && was.text() == a.text()
}

// TookTooLong reports whether Kubernetes has ended a Job because of its deadline.
func TookTooLong(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue && c.Reason == batchv1.JobReasonDeadlineExceeded && job.Spec.ActiveDeadlineSeconds != nil
	})
}

// Ended reports whether a Job has ended, and whether it has succeeded.
func Ended(job *batchv1.Job) (ended, succeeded bool) {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			return true, c.Type == batchv1.JobComplete
		}
	}
	return false, false
}
