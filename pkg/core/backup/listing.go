package backup

import (
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

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
	// OfBR is how many of all files BR may have written for a backup at the place.
	OfBR int
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
		if isOfBR.MatchString("/" + f.Path) {
			l.OfBR++
		}
	case strings.Contains(line, "Failed to "), strings.Contains(line, "ERROR"), strings.Contains(line, "Odd name received"):
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
// metaFile and the lockFile of each backup at the place and below it. In above are those of a backup that may have the
// place as a folder, nil where none can. Somebody may have deleted the files of this Backup by hand, and written another backup to the place, or
// does so now.
func (l Listing) Forbids(b *v1alpha1.Backup, above *Listing) string {
	switch {
	case l.Error != "":
		return "rclone says: " + l.Error
	case !l.Whole:
		return "the list of its files has no end"
	case above != nil && !above.Whole:
		return "the list of the folder above has no end"
	case above != nil && above.Count > 0:
		return "another backup is in the folder above"
	}
	hasMeta := false
	for _, f := range l.Files {
		folder, file := path.Split(f.Path)
		hasMeta = hasMeta || f.Path == metaFile
		switch {
		case folder != "":
			return "another backup is in folder " + strings.TrimSuffix(folder, "/") + " of the same place"
		case file == metaFile && !has(b, v1alpha1.BackupComplete):
			return "a complete backup is there, and this one is not complete"
		case !wroteAt(b, f.ModTime):
			return "another backup is there: its " + file + " was written at " + f.ModTime.UTC().Format(time.RFC3339)
		}
	}
	if !hasMeta && has(b, v1alpha1.BackupComplete) && !IsMarked(b) {
		return "its " + metaFile + " is not there"
	}
	return ""
}

// wroteAt reports whether a file may be of a Backup by the time of the file. A Backup of this plugin is made at the end.
func wroteAt(b *v1alpha1.Backup, at time.Time) bool {
	begin, end := b.CreationTimestamp.Time, b.Status.TimeCompleted.Time
	if started := b.Status.TimeStarted.Time; !started.IsZero() && started.Before(begin) {
		begin = started
	}
	for _, c := range b.Status.Conditions {
		if c.Type == v1alpha1.BackupFailed && end.IsZero() {
			end = c.LastTransitionTime.Time
		}
	}
	return !at.Before(begin.Add(-clocks)) && !at.After(end.Add(clocks))
}

// FilesFailure returns why a Job with rclone has failed, in words and as a cause.
func FilesFailure(pod *corev1.Pod, first, listed Listing) (text string, cause Cause) {
	says := listed.Error
	if end := EndOf(pod, ContainerFiles); end != nil && end.ExitCode != 0 {
		says = first.Error
	}
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
