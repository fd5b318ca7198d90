package backup

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	// ContainerFiles is the first of two containers with rclone: it deletes the files of a backup, or lists those above the
	// place. ContainerResult lists what is at the place.
	ContainerFiles = "files"

	// FilesImage is the image with which files of a bucket are listed and deleted.
	FilesImage = "rclone/rclone:1.69.1"

	// AnnotationDeleting is on a Backup from before its files are deleted. Its value is the time of that. A backup of which
	// some files are gone must not be restored, nor count for an upgrade.
	AnnotationDeleting = "kubectl-tidb/deleting"

	// metaFile is written last, so that a backup without it is not complete. BR writes lockFile first.
	metaFile = "backupmeta"
	lockFile = "backup.lock"

	checkpoints = "checkpoints"

	protection = "tidb.pingcap.com/backup-protection"
	rclone     = "rclone"
)

// ofBR are the files that BR writes for a backup, as patterns of rclone below the prefix. Each store has a folder with its
// number. No other file is deleted.
var ofBR = []string{"/" + metaFile, "/" + metaFile + ".*", "/" + lockFile, "/" + checkpoints + "/**", "/*.sst", "/[0-9]*/*.sst"}

// isOfBR has the same patterns as a regular expression, for the paths of what is left.
var isOfBR = regexp.MustCompile("^(" + strings.NewReplacer("**", ".*", "*", "[^/]*", ".", `\.`).Replace(strings.Join(ofBR, "|")) + ")$")

// isBeingDeleted reports whether somebody has begun to delete a Backup or its files.
func isBeingDeleted(b *v1alpha1.Backup) bool {
	return b.DeletionTimestamp != nil || has(b, v1alpha1.BackupClean) || IsMarked(b)
}

// IsMarked reports whether files of a Backup were being deleted, or still are.
func IsMarked(b *v1alpha1.Backup) bool { return b.Annotations[AnnotationDeleting] != "" }

// PhaseOf returns the phase of a Backup in a user's words.
func PhaseOf(b *v1alpha1.Backup) string {
	if isBeingDeleted(b) {
		return "Deleting"
	}
	return string(b.Status.Phase)
}

// DeletesFiles reports whether the files of a Backup are deleted with the Backup where the user does not say so. What was
// begun goes on.
func DeletesFiles(b *v1alpha1.Backup) bool {
	policy := b.Spec.CleanPolicy
	return IsMarked(b) || policy == v1alpha1.CleanPolicyTypeDelete || policy == v1alpha1.CleanPolicyTypeOnFailure && has(b, v1alpha1.BackupFailed)
}

// IsProtected reports whether a Backup has the finalizer of tidb-operator.
func IsProtected(b *v1alpha1.Backup) bool { return slices.Contains(b.Finalizers, protection) }

// Undeletable returns why a Backup must not be deleted here, "" where it may be.
func Undeletable(b *v1alpha1.Backup) string {
	ended := has(b, v1alpha1.BackupComplete) || has(b, v1alpha1.BackupFailed) || has(b, v1alpha1.BackupInvalid)
	switch {
	case IsProtected(b):
		return "belongs to tidb-operator, which deletes its files by its cleanPolicy"
	case b.DeletionTimestamp != nil || has(b, v1alpha1.BackupClean):
		return "is being deleted by tidb-operator"
	case b.Spec.Mode == v1alpha1.BackupModeLog:
		return "is a log backup, which has to be stopped first"
	case b.Spec.BR == nil:
		return "is no backup by BR"
	case !ended:
		return "has not ended: it is " + cmp.Or(string(b.Status.Phase), "not begun")
	}
	return ""
}

// FilesOf returns where the files of a Backup are. The flaw says why they cannot be deleted, "" where they can be. The
// files of another Backup must not be at the same place, below or above. BR gives folders of stores numbers, and the
// folder of a backup may have a number as well. The name of the bucket alone is compared, because a storage may have
// several endpoints.
func FilesOf(b *v1alpha1.Backup, all []v1alpha1.Backup) (s Source, flaw string) {
	spec := b.Spec
	switch {
	case spec.Mode == v1alpha1.BackupModeVolumeSnapshot || spec.BR == nil:
		return Source{}, "is no snapshot by BR"
	case spec.S3 == nil:
		return Source{}, "is not in S3"
	}
	d, err := ParseDestination(urlOf(b))
	switch {
	case err != nil:
		return Source{}, "has a place that cannot be used: " + err.Error()
	case "/"+d.Prefix != path.Clean("/"+d.Prefix):
		return Source{}, "has a place with empty folders or dots, which rclone does not find"
	case b.Status.BackupPath != "" && strings.Trim(b.Status.BackupPath, "/") != d.Path():
		return Source{}, "was written to " + b.Status.BackupPath + ", and its spec names " + d.Path()
	}
	for i := range all {
		other := &all[i]
		s3 := other.Spec.S3
		if other.UID != b.UID && s3 != nil && s3.Bucket == d.Bucket && d.overlaps(s3.Prefix) {
			return Source{}, "has a place that overlaps with the place of backup " + name(other)
		}
	}
	return Source{Destination: d, Secret: spec.S3.SecretName, Account: spec.ServiceAccount}, ""
}

// overlaps reports whether a prefix of the same bucket is that of the destination, or a folder below or above it.
func (d Destination) overlaps(prefix string) bool {
	prefix = strings.Trim(prefix, "/")
	isWithin := func(inner, outer string) bool {
		return outer == "" || inner == outer || strings.HasPrefix(inner, outer+"/")
	}
	return isWithin(prefix, d.Prefix) || isWithin(d.Prefix, prefix)
}

// UsedBy reports whether BR may read or write in a pod at a destination, below it or above it.
func (d Destination) UsedBy(pod *corev1.Pod) bool {
	if !MayRun(pod) {
		return false
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, argument := range c.Args {
			at, names := strings.CutPrefix(argument, "--storage=s3://"+d.Bucket+"/")
			if at, _, _ = strings.Cut(at, "?"); names && d.overlaps(at) {
				return true
			}
		}
	}
	return false
}

// IsUsedBy reports whether a Job that has not ended is to read or write at a destination. It may have no pod yet.
func (d Destination) IsUsedBy(job *batchv1.Job) bool {
	asked, _ := AskedOf(job)
	of, err := ParseDestination(asked.URL)
	ended, _ := Ended(job)
	return !ended && err == nil && of.Bucket == d.Bucket && d.overlaps(of.Prefix)
}

// OthersOf looks for the backups of a cluster without the Backups of some names.
func OthersOf(tc *v1alpha1.TidbCluster, all []v1alpha1.Backup, but []string) Found {
	return Of(tc, slices.DeleteFunc(slices.Clone(all), func(b v1alpha1.Backup) bool {
		return b.Namespace == tc.Namespace && slices.Contains(but, b.Name)
	}))
}

// Workers returns the selector of the pods in which BR or rclone works.
func Workers() string { return topology.LabelComponent + "=" + component }
