package backup

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	// ContainerFiles is the container in which rclone deletes the files of a backup. ContainerResult lists what is left.
	ContainerFiles = "files"

	// FilesImage is the image with which files of a bucket are listed and deleted.
	FilesImage = "rclone/rclone:1.69.1"

	// AnnotationDeleting is on a Backup from before its files are deleted. Its value is the time of that. A backup of which
	// some files are gone must not be restored, nor count for an upgrade.
	AnnotationDeleting = "kubectl-tidb/deleting"

	// metaFile is written last, so that a backup without it is not complete. BR writes lockFile first.
	metaFile = "backupmeta"
	lockFile = "backup.lock"

	protection = "tidb.pingcap.com/backup-protection"
	rclone     = "rclone"
)

// ofBR are the files that BR writes for a backup, as patterns of rclone below the prefix. Nothing else is deleted. A
// backup in a folder of the prefix has a metaFile and a lockFile of its own, which no pattern takes.
var ofBR = []string{"/" + metaFile, "/" + metaFile + ".*", "/" + lockFile, "/checkpoints/**", "/*.sst", "/[0-9]*/*.sst"}

// isBeingDeleted reports whether somebody has begun to delete a Backup or its files.
func isBeingDeleted(b *v1alpha1.Backup) bool {
	return b.DeletionTimestamp != nil || has(b, v1alpha1.BackupClean) || b.Annotations[AnnotationDeleting] != ""
}

// PhaseOf returns the phase of a Backup in a user's words.
func PhaseOf(b *v1alpha1.Backup) string {
	if isBeingDeleted(b) {
		return "Deleting"
	}
	return string(b.Status.Phase)
}

// DeletesFiles reports whether the files of a Backup are deleted with the Backup where the user does not say so.
func DeletesFiles(b *v1alpha1.Backup) bool {
	policy := b.Spec.CleanPolicy
	return policy == v1alpha1.CleanPolicyTypeDelete || policy == v1alpha1.CleanPolicyTypeOnFailure && has(b, v1alpha1.BackupFailed)
}

// Undeletable returns why a Backup must not be deleted here, "" where it may be.
func Undeletable(b *v1alpha1.Backup) string {
	ended := has(b, v1alpha1.BackupComplete) || has(b, v1alpha1.BackupFailed) || has(b, v1alpha1.BackupInvalid)
	switch {
	case slices.Contains(b.Finalizers, protection):
		return "belongs to tidb-operator, which deletes its files by its cleanPolicy"
	case b.DeletionTimestamp != nil || has(b, v1alpha1.BackupClean):
		return "is being deleted by tidb-operator"
	case b.Spec.Mode == v1alpha1.BackupModeLog:
		return "is a log backup, which has to be stopped first"
	case !ended:
		return "has not ended: it is " + cmp.Or(string(b.Status.Phase), "not begun")
	}
	return ""
}

// FilesOf returns where the files of a Backup are. The flaw says why they cannot be deleted, "" where they can be. Files of
// another Backup must not be below the prefix or at the same place. The name of the bucket alone is compared, because one
// storage may have several endpoints.
func FilesOf(b *v1alpha1.Backup, all []v1alpha1.Backup) (s Source, flaw string) {
	spec := b.Spec
	switch {
	case spec.Mode == v1alpha1.BackupModeVolumeSnapshot || spec.BR == nil:
		return Source{}, "is no snapshot by BR"
	case spec.S3 == nil:
		return Source{}, "is not in S3"
	}
	d, err := ParseDestination(urlOf(b))
	if err != nil {
		return Source{}, "has a place that cannot be used: " + err.Error()
	}
	for i := range all {
		other := &all[i]
		s3 := other.Spec.S3
		if other.UID == b.UID || s3 == nil || s3.Bucket != d.Bucket {
			continue
		}
		if isWithin(strings.Trim(s3.Prefix, "/"), d.Prefix) {
			return Source{}, "has a place in which backup " + name(other) + " is as well"
		}
	}
	return Source{Destination: d, Secret: spec.S3.SecretName, Account: spec.ServiceAccount}, ""
}

// isWithin reports whether a prefix is another one, or a folder in it.
func isWithin(prefix, of string) bool { return prefix == of || strings.HasPrefix(prefix, of+"/") }

// UsedBy reports whether BR may read or write at a destination in a pod, or in a folder of the destination.
func (d Destination) UsedBy(pod *corev1.Pod) bool {
	if !MayRun(pod) {
		return false
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, argument := range c.Args {
			at, names := strings.CutPrefix(argument, "--storage=s3://"+d.Bucket+"/")
			if at, _, _ = strings.Cut(at, "?"); names && isWithin(strings.Trim(at, "/"), d.Prefix) {
				return true
			}
		}
	}
	return false
}

// OthersOf looks for the backups of a cluster without the Backups of some names.
func OthersOf(tc *v1alpha1.TidbCluster, all []v1alpha1.Backup, but []string) Found {
	return Of(tc, slices.DeleteFunc(slices.Clone(all), func(b v1alpha1.Backup) bool {
		return b.Namespace == tc.Namespace && slices.Contains(but, b.Name)
	}))
}

// File is a file of a bucket. Its path begins after the prefix.
type File struct {
	Path    string
	Size    int64
	ModTime time.Time
}

// Listing is what rclone has written: the files that it has listed, or its error.
type Listing struct {
	Files []File // the first ones
	Count int
	// Whole: the list has its end. Without the end nobody knows what else is there.
	Whole bool
	Error string
}

// kept is how many files of a list are kept. A list of the files that say what is there has two for each backup.
const kept = 100

// Add reads one more line.
func (l *Listing) Add(line string) {
	line = strings.TrimRight(line, "\r\n")
	var f File
	switch text := strings.TrimSuffix(line, ","); {
	case text == "[":
		l.Whole = false
	case text == "]", text == "[]":
		l.Whole = true
	case strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &f) == nil && f.Path != "":
		if l.Count++; len(l.Files) < kept {
			l.Files = append(l.Files, f)
		}
	case strings.Contains(line, "Failed to ") || strings.Contains(line, "ERROR"):
		l.Error = withoutTime(line)
	case l.Error != "" && strings.TrimSpace(line) != "" && !strings.Contains(line, "NOTICE"):
		l.Error += " " + strings.TrimSpace(line) // the status code of S3 is in a line of its own
	}
}

// withoutTime returns a line of rclone's log without the date and the time at its beginning.
func withoutTime(line string) string {
	if parts := strings.SplitN(line, " ", 3); len(parts) == 3 && strings.Count(parts[0], "/") == 2 {
		return strings.TrimSpace(parts[2])
	}
	return line
}

// Paths returns the paths of the files that are kept.
func (l Listing) Paths() []string {
	paths := make([]string, 0, len(l.Files))
	for _, f := range l.Files {
		paths = append(paths, f.Path)
	}
	return paths
}

// clocks is by how much the clocks of a bucket and of Kubernetes may differ.
const clocks = 10 * time.Minute

// Forbids returns why the files at the place of a Backup must not be deleted, "" where they may be. The list has the
// metaFile and the lockFile of each backup at the place and below it. Somebody may have deleted the files of this Backup by
// hand, and written another backup to the place.
func (l Listing) Forbids(b *v1alpha1.Backup) string {
	if !l.Whole {
		return "the list of its files has no end"
	}
	for _, f := range l.Files {
		folder, file := path.Split(f.Path)
		switch {
		case folder != "":
			return "another backup is in folder " + strings.TrimSuffix(folder, "/") + " of the same place"
		case file != metaFile:
		case !has(b, v1alpha1.BackupComplete):
			return "a complete backup is there, and this one is not complete"
		case f.ModTime.Before(b.Status.TimeStarted.Add(-clocks)) || f.ModTime.After(b.Status.TimeCompleted.Add(clocks)):
			return "another backup is there: its " + metaFile + " was written at " + f.ModTime.UTC().Format(time.RFC3339)
		}
	}
	return ""
}

// FilesFailure returns why a Job with rclone has failed, in words and as a cause.
func FilesFailure(pod *corev1.Pod, deleted, listed Listing) (text string, cause Cause) {
	says := cmp.Or(deleted.Error, listed.Error)
	for _, container := range []string{ContainerFiles, ContainerResult} {
		if end := EndOf(pod, container); end != nil && end.Reason == "OOMKilled" {
			return "rclone needed more memory than its node or the namespace gives", NoMemory
		}
	}
	switch {
	case says != "":
		return "rclone says: " + says, CauseOf(says)
	case pod == nil:
		return "its pod is gone, and the log with it", Unexplained
	case pod.Status.Reason != "":
		return "Kubernetes has ended its pod: " + strings.TrimSuffix(pod.Status.Reason+": "+pod.Status.Message, ": "), Unexplained
	}
	return "rclone has ended and gives no reason", Unexplained
}

// list returns the arguments with which rclone lists files at the destination, those of the patterns where there are any.
func (r Request) list(patterns ...string) []string {
	return r.rclone("lsjson", append([]string{"--recursive", "--files-only", "--no-mimetype", "--use-server-modtime"}, included(patterns)...))
}

// rclone returns the arguments of rclone, which has no file of settings.
func (r Request) rclone(verb string, flags []string) []string {
	all := append([]string{verb, "--config="}, flags...)
	all = append(all, "--s3-env-auth", "--s3-provider="+r.providerOfRclone())
	for _, flag := range [][2]string{{"region", r.Region}, {"endpoint", r.Endpoint}} {
		if flag[1] != "" {
			all = append(all, "--s3-"+flag[0]+"="+flag[1])
		}
	}
	if r.PathStyle != nil {
		style := "--s3-force-path-style=false"
		if *r.PathStyle {
			style = "--s3-force-path-style=true"
		}
		all = append(all, style)
	}
	return append(all, ":s3:"+r.Bucket+"/"+r.Prefix)
}

func included(patterns []string) []string {
	var all []string
	for _, p := range patterns {
		all = append(all, "--include="+p)
	}
	return all
}

// providerOfRclone returns the name that rclone has for a provider of S3.
func (d Destination) providerOfRclone() string {
	known := map[string]string{"aws": "AWS", "alibaba": "Alibaba", "ceph": "Ceph", "minio": "Minio", "gcs": "GCS"}
	if provider, ok := known[strings.ToLower(d.Provider)]; ok {
		return provider
	}
	if d.Endpoint == "" {
		return "AWS"
	}
	return "Other"
}

// Workers returns the selector of the pods in which BR or rclone works.
func Workers() string { return topology.LabelComponent + "=" + component }
