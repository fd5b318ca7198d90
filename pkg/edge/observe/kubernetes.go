package observe

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func set(s *appsv1.StatefulSet) state.Set {
	if s == nil {
		return state.Set{}
	}
	ordinals := state.OrdinalsOf(s)
	out := state.Set{
		Exists:          true,
		UID:             string(s.UID),
		Generation:      s.Generation,
		Made:            s.CreationTimestamp.Time,
		Terminating:     s.DeletionTimestamp != nil,
		Replicas:        ordinals.Count,
		Start:           ordinals.Start,
		Slots:           ordinals.Slots,
		Partition:       render.Partition(s),
		Manual:          s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType && !render.RestartsInBatches(s),
		InBatches:       render.RestartsInBatches(s),
		Ordered:         s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
		Observed:        s.Status.ObservedGeneration >= s.Generation,
		UpdateRevision:  s.Status.UpdateRevision,
		CurrentRevision: s.Status.CurrentRevision,
		Template:        render.Template(s),
		Volumes:         claimTemplates(s.Spec.VolumeClaimTemplates),
	}
	for _, f := range s.ManagedFields {
		if f.Subresource == "" && f.Time != nil && !f.Time.Time.Before(out.Written) {
			out.Writer, out.Written = f.Manager, f.Time.Time
		}
	}
	if p := s.Spec.PersistentVolumeClaimRetentionPolicy; p != nil {
		out.DeletesWhenScaled = p.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
		out.DeletesWhenDeleted = p.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return out
}

// drainBegun reads tidb-operator's mark of a drain. tidb-operator drains no capture that has one which
// cannot be read, so that it counts as a mark.
func drainBegun(mark string) time.Time {
	if mark == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, mark)
	if err != nil {
		return state.LongAgo
	}
	return at
}

func podState(k topology.Kind, p *corev1.Pod) *state.Pod {
	out := &state.Pod{
		UID:         string(p.UID),
		Revision:    p.Labels[appsv1.ControllerRevisionHashLabelKey],
		Terminating: p.DeletionTimestamp != nil,
		Since:       p.CreationTimestamp.Time,
		Node:        p.Spec.NodeName,
		Claims:      ownClaims(p),
		Mounts:      ownMounts(k, p),
		Identity:    identity(p),
		Made:        p.CreationTimestamp.Time,
		Behind:      clockBehind(p),
		Addressed:   state.Addressed(p),
		Ended:       state.Ended(p),
	}
	for _, c := range p.Spec.Containers {
		if c.Name == string(k) {
			out.Version = topology.Tag(c.Image)
			out.Binlog = state.WritesBinlog(c)
		}
	}
	out.Ready = state.Ready(p)
	if c := state.ReadyCondition(p); c.Type != "" {
		out.Since = corrected(c.LastTransitionTime, out.Behind)
	}
	// A value that cannot be parsed counts as none.
	out.EvictionBegun, _ = time.Parse(time.RFC3339, p.Annotations[topology.AnnotationEvictionBegun])
	out.VolumesReplaced = p.Annotations[topology.AnnotationVolumesReplaced] == "true"
	out.DrainBegun = drainBegun(p.Annotations[topology.AnnotationDrainBegun])
	if out.Terminating {
		out.Since, out.Finalizers = deletionAsked(p), p.Finalizers
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.Name != string(k) {
			continue
		}
		if c.State.Running != nil {
			out.Started = corrected(c.State.Running.StartedAt, out.Behind)
		}
		out.Closing = p.Annotations[topology.AnnotationClosing] == strconv.Itoa(int(c.RestartCount))
		out.Restarts, out.Last = int(c.RestartCount), lastRun(c, out.Behind)
		out.Ran = c.State.Waiting == nil || c.RestartCount > 0 || c.LastTerminationState.Terminated != nil
	}
	if !out.Ready {
		out.Problem = podProblem(p)
	}
	return out
}

// otherController names the controller of a pod if it is not a StatefulSet of the kind that the cluster has. It is ""
// for a pod without a controller. When a StatefulSet was deleted without its pods, the pods have no controller until the
// next StatefulSet adopts them.
func otherController(p *corev1.Pod, advanced bool) string {
	c := metav1.GetControllerOf(p)
	if c == nil || controlledBySet(p, advanced) {
		return ""
	}
	return fmt.Sprintf("%s %s of %s", c.Kind, c.Name, c.APIVersion)
}

// ownClaims returns the claims that the StatefulSet makes for a pod. The pod may
// also use claims of the user, which are not among them.
func ownClaims(p *corev1.Pod) []string {
	var names []string
	for _, v := range p.Spec.Volumes {
		if c := v.PersistentVolumeClaim; c != nil && strings.HasSuffix(c.ClaimName, "-"+p.Name) {
			names = append(names, c.ClaimName)
		}
	}
	return names
}

// ownMounts returns where the component's container mounts the volumes of these claims, by the names of their templates. It
// returns nil for a pod without such claims, whose data is elsewhere.
func ownMounts(k topology.Kind, p *corev1.Pod) map[string]string {
	var all map[string]string
	for _, claim := range ownClaims(p) {
		if all == nil {
			all = map[string]string{}
		}
		name := strings.TrimSuffix(claim, "-"+p.Name)
		all[name] = render.MountPath(p.Spec, k, name)
	}
	return all
}

// clockBehind returns how far the clock of a pod's host is behind the clock of the API server, by the pod. The pod's
// kubelet writes when the pod was accepted, and the API server when the pod was scheduled, which was before. With
// such a clock a state seems to have lasted longer than it has. A clock that is ahead makes it seem shorter, which
// only means a longer wait.
func clockBehind(p *corev1.Pod) time.Duration {
	if p.Status.StartTime == nil {
		return 0
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return max(0, c.LastTransitionTime.Sub(p.Status.StartTime.Time))
		}
	}
	return 0
}

// corrected returns a time of a host whose clock is behind, by the clock of the API server. An
// unknown time stays unknown.
func corrected(t metav1.Time, behind time.Duration) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Add(behind)
}

// lastRun returns the last run of a container that has ended, on a host whose clock is behind.
func lastRun(c corev1.ContainerStatus, behind time.Duration) state.Run {
	ended := c.State.Terminated
	if ended == nil {
		ended = c.LastTerminationState.Terminated
	}
	if ended == nil {
		return state.Run{}
	}
	return state.Run{Started: corrected(ended.StartedAt, behind), Ended: corrected(ended.FinishedAt, behind)}
}

// deletionAsked returns when the deletion of a pod was requested: the deletion timestamp is
// the end of its grace period.
func deletionAsked(p *corev1.Pod) time.Time {
	at := p.DeletionTimestamp.Time
	if grace := p.DeletionGracePeriodSeconds; grace != nil {
		at = at.Add(-time.Duration(*grace) * time.Second)
	}
	return at
}

// join returns one line with a reason and the message of Kubernetes about it.
func join(reason, message string) string {
	message, _, _ = strings.Cut(message, "\n")
	if r := []rune(message); len(r) > longest {
		message = string(r[:longest-1]) + "…"
	}
	if message == "" {
		return reason
	}
	return reason + ": " + message
}

// longest is how much of a message is shown; "kubectl describe" has the rest.
const longest = 120

// claimOrdinal returns the template and the ordinal of a claim, by its name. Labels with the pod's
// name are set only later, or never.
func claimOrdinal(c topology.Cluster, k topology.Kind, claim *corev1.PersistentVolumeClaim) (volume string, ordinal int, ok bool) {
	if claim.Labels[topology.LabelComponent] != string(k) {
		return "", 0, false
	}
	return c.ClaimOrdinal(k, claim.Name)
}
