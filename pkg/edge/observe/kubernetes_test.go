package observe

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestWholeSet: all fields of a StatefulSet.
func TestWholeSet(t *testing.T) {
	three, gone := int32(3), metav1.NewTime(noon.Add(time.Hour))
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{UID: "u", CreationTimestamp: metav1.NewTime(noon), DeletionTimestamp: &gone, Generation: 4,
			Annotations: map[string]string{"pingcap.com/last-applied-configuration": "{}"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &three, PodManagementPolicy: appsv1.ParallelPodManagement,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "tikv"},
				Spec:       corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: amount("10Gi")}},
			}},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 4, UpdateRevision: "new", CurrentRevision: "old"},
	}
	want := state.Set{
		Exists: true, UID: "u", Generation: 4, Made: noon, Terminating: true, Replicas: 3, Observed: true, UpdateRevision: "new", CurrentRevision: "old",
		Template: render.Template(s), Volumes: map[string]state.ClaimTemplate{"tikv": {Size: 10 * gi}},
	}
	if got := set(s); !reflect.DeepEqual(got, want) || got.Template == "" {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.Generation = 5
	if set(s).Observed {
		t.Error("the controller has yet to observe the last change")
	}
	s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
	if got := set(s); got.Partition != 0 {
		t.Errorf("partition %d", got.Partition)
	}
}

// TestWholePod: all fields of a running pod, and of one that is being deleted.
func TestWholePod(t *testing.T) {
	at := func(minutes int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute)) }
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			UID: "u", Name: "basic-tikv-0", CreationTimestamp: at(0),
			Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: "r1"},
		},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "tikv", Image: "pingcap/tikv:v8"}}},
		Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(2)},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(1)},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "tikv", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(1)}}},
				{Name: "sidecar", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(9)}}},
			},
		},
	}
	want := state.Pod{
		UID: "u", Revision: "r1", Since: at(2).Time, Node: "n1", Identity: identity(p), Made: noon,
		Version: "v8", Ready: true, Started: at(1).Time, Ran: true,
	}
	if got := podState(topology.TiKV, p); !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
	p.Status.Conditions = nil
	if got := podState(topology.TiKV, p); got.Ready || !got.Since.Equal(noon) || got.Problem == "" {
		t.Errorf("just made: %+v", got)
	}
	gone := at(30)
	p.DeletionTimestamp = &gone
	if got := podState(topology.TiKV, p); !got.Terminating || !got.Since.Equal(gone.Time) {
		t.Errorf("deleted without a grace period: %+v", got)
	}
}

// TestClockOfAHost: times of a host whose clock is behind are converted to the clock of the API
// server. A clock that is ahead is not corrected: the kubelet may have been away when the pod was
// scheduled.
func TestClockOfAHost(t *testing.T) {
	at := func(minutes int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute)) }
	scheduled, ended := at(10), corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(20), FinishedAt: at(21)}}
	for name, c := range map[string]struct {
		accepted *metav1.Time
		placed   corev1.ConditionStatus
		behind   time.Duration
	}{
		"it agrees":                     {ptr.To(at(10)), corev1.ConditionTrue, 0},
		"it is behind":                  {ptr.To(at(7)), corev1.ConditionTrue, 3 * time.Minute},
		"it is ahead, or was away":      {ptr.To(at(12)), corev1.ConditionTrue, 0},
		"the kubelet has said nothing":  {nil, corev1.ConditionTrue, 0},
		"the scheduler has yet to look": {ptr.To(at(7)), corev1.ConditionFalse, 0},
	} {
		p := &corev1.Pod{Status: corev1.PodStatus{
			StartTime: c.accepted,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(23)},
				{Type: corev1.PodScheduled, Status: c.placed, LastTransitionTime: scheduled},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "tikv", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(22)}}, LastTerminationState: ended,
			}},
		}}
		got := podState(topology.TiKV, p)
		want := []time.Time{at(20).Add(c.behind), at(21).Add(c.behind), at(22).Add(c.behind), at(23).Add(c.behind)}
		if times := []time.Time{got.Last.Started, got.Last.Ended, got.Started, got.Since}; !slices.Equal(times, want) || got.Behind != c.behind {
			t.Errorf("%s: behind by %s: %v, want %v", name, got.Behind, times, want)
		}
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
		if got := podState(topology.TiKV, p); got.Last != (state.Run{}) {
			t.Errorf("%s: got %v for a last run that is unknown", name, got.Last)
		}
	}
}

// TestRan: whether a container has ever run on its claims.
func TestRan(t *testing.T) {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	for name, c := range map[string]struct {
		status corev1.ContainerStatus
		want   bool
	}{
		"it waits for the first time": {corev1.ContainerStatus{State: waiting}, false},
		"it waits after a run":        {corev1.ContainerStatus{State: waiting, LastTerminationState: ended}, true},
		"it waits after a restart":    {corev1.ContainerStatus{State: waiting, RestartCount: 1}, true},
		"it has ended":                {corev1.ContainerStatus{State: ended}, true},
	} {
		c.status.Name = "tikv"
		p := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{c.status}}}
		if got := podState(topology.TiKV, p).Ran; got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestPodProblem: the first reason why a pod is not Ready.
func TestPodProblem(t *testing.T) {
	waits := func(name, reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Image: "i:1", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
		}}
	}
	ended := func(name string, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"},
		}}
	}
	runs := func(name string, ready bool) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	}
	crashes := waits("tikv", "CrashLoopBackOff", "back-off 5m0s")
	crashes.LastTerminationState = ended("tikv", 7).State
	stuck := waits("tikv", "RunContainerError", "no such file")
	stuck.LastTerminationState = ended("tikv", 7).State
	of := func(c ...corev1.ContainerStatus) corev1.PodStatus { return corev1.PodStatus{ContainerStatuses: c} }
	placed := func(ok corev1.ConditionStatus, s corev1.PodStatus) corev1.PodStatus {
		s.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "NotReady"},
			{Type: corev1.PodScheduled, Status: ok, Reason: "Unschedulable", Message: "0/3 nodes"},
		}
		return s
	}
	long := strings.Repeat("é", longest)
	for want, status := range map[string]corev1.PodStatus{
		"pod is starting":                                               of(waits("tikv", "PodInitializing", "")),
		"Unschedulable: 0/3 nodes":                                      placed(corev1.ConditionFalse, of(crashes)),
		"Unschedulable: no node has room":                               {Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node has room"}}},
		"container tikv ended with exit code 2: Error":                  placed(corev1.ConditionTrue, of(ended("tikv", 2))),
		"pod failed: Evicted: disk":                                     {Phase: corev1.PodFailed, Reason: "Evicted", Message: "disk", ContainerStatuses: of(crashes).ContainerStatuses},
		"container init ended with exit code 1: Error":                  {InitContainerStatuses: of(ended("init", 1)).ContainerStatuses, ContainerStatuses: of(waits("tikv", "PodInitializing", "")).ContainerStatuses},
		"container tikv runs but is not ready yet":                      of(ended("init", 0), runs("sidecar", true), runs("tikv", false)),
		"image i:1 cannot be pulled":                                    of(waits("tikv", "ImagePullBackOff", "a long reason")),
		"container tikv crashes again and again, last with exit code 7": of(runs("sidecar", false), crashes),
		"CrashLoopBackOff: back-off":                                    of(waits("tikv", "CrashLoopBackOff", "back-off\nsecond line")),
		"RunContainerError: no such file":                               of(stuck),
		"CreateContainerConfigError":                                    of(waits("tikv", "CreateContainerConfigError", "")),
		"Long: " + long:                                                 of(waits("tikv", "Long", long)),
		"Longer: " + long[:len(long)-len("é")] + "…":                    of(waits("tikv", "Longer", long+"é")),
	} {
		if got := podProblem(&corev1.Pod{Status: status}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestClaimOfAnother: a claim is a member's only if its component is the member's.
func TestClaimOfAnother(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "tikv-basic-tikv-0", Labels: map[string]string{topology.LabelComponent: "pd"},
	}}
	if volume, n, ok := claimOrdinal(basic, topology.TiKV, claim); ok || volume != "" || n != 0 {
		t.Errorf("got %q, %d", volume, n)
	}
	claim.Labels, claim.Name = map[string]string{topology.LabelComponent: "tikv"}, "basic"
	if volume, n, ok := claimOrdinal(basic, topology.TiKV, claim); ok || volume != "" || n != 0 {
		t.Errorf("got %q, %d", volume, n)
	}
}

// TestObjects: which member each object belongs to, what is known about claims, and when they were
// created.
func TestObjects(t *testing.T) {
	claim := func(name string, phase corev1.PersistentVolumeClaimPhase, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: basic.Labels(topology.TiKV), CreationTimestamp: metav1.NewTime(noon)},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: volume},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: phase},
		}
	}
	data, log, pending := claim("tikv-basic-tikv-0", corev1.ClaimBound, "pv-0"), claim("log-basic-tikv-1", corev1.ClaimLost, "pv-1"), claim("tikv-basic-tikv-2", corev1.ClaimPending, "pv-2")
	data.UID, log.UID, pending.UID = "data", "log", "pending"
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "pd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}},
		}}}}
	}
	o := Objects{
		Services:   []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "basic-pd"}}},
		ConfigMaps: []*corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv"}}},
		Sets:       []*appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv"}}, {ObjectMeta: metav1.ObjectMeta{Name: "basic-drainer"}}, {ObjectMeta: metav1.ObjectMeta{Name: "basic-tidb"}}},
		Pods:       []*corev1.Pod{pod("basic-pd-1"), pod("other-pd-0"), pod("basic-tidb-0")},
		Claims:     []*corev1.PersistentVolumeClaim{data, log, pending},
		Discovery:  true,
	}
	seen := o.sort(basic)
	if e := seen.existing; e.Services["basic-pd"] == nil || e.ConfigMaps["basic-tikv"] == nil || e.Sets[topology.TiKV] == nil ||
		len(e.Sets) != 2 || !e.HasDiscoveryDeployment || e.Pods[topology.PD] == nil || len(e.Pods) != 1 {
		t.Errorf("got %+v", e)
	}
	if len(seen.pods[topology.PD]) != 1 || seen.pods[topology.PD][1] == nil || len(seen.pods[topology.TiKV]) != 0 {
		t.Errorf("pods %v", seen.pods)
	}
	if len(seen.claims[topology.TiKV]) != 3 || len(seen.claims[topology.PD]) != 0 {
		t.Errorf("claims %v", seen.claims)
	}
	if want := map[string]string{"data": "pv-0", "log": "pv-1"}; !reflect.DeepEqual(seen.bound, want) {
		t.Errorf("bound %v", seen.bound)
	}
	if born := seen.born[topology.TiKV]; !born[0].Equal(noon) || !born[1].IsZero() {
		t.Errorf("born %v", born)
	}
	if got := seen.started(basic, "basic-pd-1"); !got.Equal(noon) || !seen.started(basic, "basic-pd-0").IsZero() {
		t.Errorf("started %s", got)
	}
}
