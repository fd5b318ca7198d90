package backup

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Cause is why a backup has failed, where the words of BR say that.
type Cause string

// The causes that a person can do something about.
const (
	Used        Cause = "used"        // the destination has files of another backup
	Storage     Cause = "storage"     // the bucket cannot be used: it is not there, or the credentials are wrong
	Version     Cause = "version"     // this release of BR does not fit the cluster
	Collected   Cause = "collected"   // garbage collection was faster
	Damaged     Cause = "damaged"     // what was read is not what is stored
	Gone        Cause = "gone"        // a file of the backup is not there
	Unexplained Cause = ""            // none of these
	Empty       Cause = "empty"       // there is no such table, or the database has none
	Unreadable  Cause = "unreadable"  // nothing complete was found afterwards
	NoMemory    Cause = "no-memory"   // Kubernetes has ended BR
	NoImage     Cause = "no-image"    // the image cannot be pulled
	NoSecret    Cause = "no-secret"   // the pod waits for a Secret or one of its keys
	NoPlace     Cause = "no-place"    // no node takes the pod
	NoPod       Cause = "no-pod"      // Kubernetes is not allowed to make the pod
	NotStarted  Cause = "not-started" // the pod waits for something else
)

// Breaks reports whether a backup with this fault cannot be counted on any more.
func (c Cause) Breaks() bool { return c == Damaged || c == Gone }

// NeedsPerson reports whether a pod waits for what only a person can provide.
func (c Cause) NeedsPerson() bool { return c == NoImage || c == NoSecret || c == NoPod }

// words are parts of the errors of BR and of S3, by what they mean; the first one that is found counts.
var words = []struct {
	cause Cause
	any   []string
}{
	{Used, []string{"backup meta exists", "meta file exists", "backup lock exists", "backup files in the path already", "already contains backup"}},
	{Gone, []string{"nosuchkey"}},
	{Storage, []string{
		"not accessible", "errstorageinvalidconfig", "invalidaccesskeyid", "signaturedoesnotmatch", "accessdenied", "access denied", "nosuchbucket",
		"status code: 403", "status code: 404", "statuscode: 403", "statuscode: 404", "forbidden", "no such host", "permanentredirect", "directory not found",
		"nocredentialproviders", "no ec2 imds role found", "failed to retrieve credentials",
	}},
	{Version, []string{"incompatible version", "errversionmismatch", "unimplemented unknown service"}},
	{Collected, []string{"gc safepoint", "gcsafepointexceeded"}},
	{Damaged, []string{"checksum mismatch", "failed to validate checksum", "backup data checksum failed"}},
}

// CauseOf returns what an error of BR means.
func CauseOf(text string) Cause {
	text = strings.ToLower(text)
	for _, w := range words {
		if slices.ContainsFunc(w.any, func(part string) bool { return strings.Contains(text, part) }) {
			return w.cause
		}
	}
	return Unexplained
}

const shown = 400 // of an error; the log has the rest

// Spoken returns an error of BR as a line, without the values of Secrets.
func Spoken(text string, values ...string) string {
	var hidden []string
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" { // a value from a file ends with a new line
			hidden = append(hidden, v, url.QueryEscape(v))
		}
	}
	// The longest value comes first, because the end of a value that begins with another value would be shown.
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, v := range hidden {
		text = strings.ReplaceAll(text, v, "…")
	}
	text = keys.ReplaceAllString(text, "${1}…")
	if text = strings.Join(strings.Fields(text), " "); len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "…"
	}
	return text
}

// keys are credentials in an error with a URL.
var keys = regexp.MustCompile(`(?i)((?:secret-access-key|access-key|session-token|x-amz-signature|x-amz-credential)=)[^&\s"]+`)

// Refusal is why Kubernetes could not make a pod, "" where that is not known. A full quota may have room later. It is
// final where a person has to change something.
type Refusal struct {
	Text  string
	Final bool
}

func (r Refusal) words() (text string, cause Cause) {
	switch {
	case r.Final:
		return "Kubernetes could not make the pod: " + Spoken(r.Text), NoPod
	case r.Text != "":
		return "Kubernetes could not make the pod, and tries again: " + Spoken(r.Text), NotStarted
	}
	return "no pod was made yet", NotStarted
}

// Waits returns what a pod waits for before BR runs, and its cause; "" where BR runs, or has run. Without a pod,
// refusal says why Kubernetes could not make it.
func Waits(pod *corev1.Pod, refusal Refusal) (text string, cause Cause) {
	if pod == nil {
		return refusal.words()
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if s.State.Running != nil || s.State.Terminated != nil && s.Name == ContainerBR {
			return "", Unexplained
		}
		w := s.State.Waiting
		if w == nil || w.Reason == "PodInitializing" || w.Reason == "ContainerCreating" {
			continue
		}
		switch w.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
			cause = NoImage
		case "CreateContainerConfigError":
			cause = NoSecret
		default:
			cause = NotStarted
		}
		return strings.TrimSuffix(w.Reason+": "+w.Message, ": "), cause
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "no node takes the pod: " + c.Message, NoPlace
		}
	}
	return "the pod starts", Unexplained
}

// HasRun reports whether a container of a pod runs or has run, so that it may have a log.
func HasRun(pod *corev1.Pod, container string) bool {
	if pod == nil {
		return false
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if s.Name == container {
			return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
		}
	}
	return false
}

// MayRun reports whether BR may run in a pod, or may be started there. Kubernetes gives up a pod on a node that it does not
// reach, and BR goes on there.
func MayRun(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return !ended || HasRun(pod, ContainerBR) && EndOf(pod, ContainerBR) == nil
}

// EndOf returns how a container of a pod has ended, nil where it has not.
func EndOf(pod *corev1.Pod, container string) *corev1.ContainerStateTerminated {
	if pod == nil {
		return nil
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if s.Name == container {
			return s.State.Terminated
		}
	}
	return nil
}

// FailureOf returns why a Job has failed, in words and as a cause.
func FailureOf(pod *corev1.Pod, log Log, result Log) (text string, cause Cause) {
	saves, reads := EndOf(pod, ContainerBR), EndOf(pod, ContainerResult)
	for _, end := range []*corev1.ContainerStateTerminated{saves, reads} {
		if end != nil && end.Reason == "OOMKilled" {
			return "BR needed more memory than its node or the namespace gives", NoMemory
		}
	}
	switch {
	case saves == nil && reads != nil && reads.ExitCode != 0:
		return "no complete backup can be read there: " + cmp.Or(result.Error, "BR gives no reason"), cmp.Or(CauseOf(result.Error), Unreadable)
	case saves != nil && saves.ExitCode == 0:
		return "BR has ended without an error, and no complete backup was found afterwards: " + cmp.Or(result.Error, log.Error, "it gives no reason"), Unreadable
	case log.Error != "":
		return "BR says: " + log.Error, CauseOf(log.Error)
	case pod == nil:
		return "its pod is gone, and the log with it", Unexplained
	case pod.Status.Reason != "":
		return "Kubernetes has ended its pod: " + strings.TrimSuffix(pod.Status.Reason+": "+pod.Status.Message, ": "), Unexplained
	}
	return "BR has ended and gives no reason", Unexplained
}
