package advanced

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

func TestOrdinals(t *testing.T) {
	for _, tt := range []struct {
		replicas int32
		slots    string
		want     []int
	}{
		{3, "[1]", []int{0, 2, 3}}, {3, "[0,1]", []int{2, 3, 4}}, {3, "[5]", []int{0, 1, 2}}, {0, "[0]", nil}, {2, "[3,2,0]", []int{1, 4}}, {2, "no", []int{0, 1}},
	} {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{slots: tt.slots}}, Spec: appsv1.StatefulSetSpec{Replicas: &tt.replicas}}
		if got := Ordinals(set); !slices.Equal(got, tt.want) {
			t.Errorf("%d, %s: %v, want %v", tt.replicas, tt.slots, got, tt.want)
		}
	}
}

// lab is an API server with the stand-in.
type lab struct{ Controller }

func newLab(t *testing.T) *lab {
	t.Helper()
	server := httptest.NewServer(memoryapi.New())
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	return &lab{Controller{
		Kube: kubernetes.NewForConfigOrDie(config), Dynamic: dynamic.NewForConfigOrDie(config), Namespace: "db", Log: func(err error) { t.Error(err) },
	}}
}

// settle lets the controller work, with a kubelet whose pods become ready at once.
func (l *lab) settle(t *testing.T) {
	t.Helper()
	for range 12 {
		if err := l.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		pods, err := l.Kube.CoreV1().Pods("db").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if !ready(p) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				if _, err := l.Kube.CoreV1().Pods("db").UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// seen returns the pods with their images.
func (l *lab) seen(t *testing.T) string {
	t.Helper()
	pods, err := l.Kube.CoreV1().Pods("db").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range pods.Items {
		all = append(all, strings.TrimPrefix(p.Name, "kv-")+":"+p.Spec.Containers[0].Image)
	}
	return strings.Join(all, " ")
}

// edit changes the set.
func (l *lab) edit(t *testing.T, change func(*unstructured.Unstructured)) {
	t.Helper()
	client := l.Dynamic.Resource(Resource).Namespace("db")
	u, err := client.Get(t.Context(), "kv", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	if _, err := client.Update(t.Context(), u, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestController: pods come, leave a slot, are replaced down to the partition, and come back below it with the revision of
// the others. Pods of a StatefulSet of Kubernetes that was deleted without them are taken over.
func TestController(t *testing.T) {
	l := newLab(t)
	labels := map[string]string{"of": "kv"}
	native := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "kv"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)), ServiceName: "kv", Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(3))}},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kv", Image: "a"}}}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
	}
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "kv-1", Labels: map[string]string{"of": "kv", appsv1.ControllerRevisionHashLabelKey: "kv-old"}}, Spec: native.Spec.Template.Spec}
	orphan, err := l.Kube.CoreV1().Pods("db").Create(t.Context(), orphan, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := dataOf(native.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	old := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "kv-old", Labels: labels}, Revision: 1}
	old.Data.Raw = data
	if _, err := l.Kube.AppsV1().ControllerRevisions("db").Create(t.Context(), old, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	set, err := Migrated(native)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Dynamic.Resource(Resource).Namespace("db").Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := func(what, pods string) {
		t.Helper()
		l.settle(t)
		if got := l.seen(t); got != pods {
			t.Fatalf("%s: %s, want %s", what, got, pods)
		}
	}
	want("made", "0:a 1:a 2:a")
	if p, err := l.Kube.CoreV1().Pods("db").Get(t.Context(), "kv-1", metav1.GetOptions{}); err != nil || p.UID != orphan.UID || metav1.GetControllerOf(p) == nil {
		t.Errorf("the pod was not taken over: %v", err)
	}
	scale := func(replicas int64, without string, partition int64) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, replicas, "spec", "replicas")
			_ = unstructured.SetNestedField(u.Object, partition, "spec", "updateStrategy", "rollingUpdate", "partition")
			u.SetAnnotations(map[string]string{slots: without})
		}
	}
	l.edit(t, scale(4, "", 4))
	want("one more", "0:a 1:a 2:a 3:a")
	l.edit(t, scale(3, "[1]", 4))
	want("a slot", "0:a 2:a 3:a")
	l.edit(t, func(u *unstructured.Unstructured) {
		all := u.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
		all[0].(map[string]any)["image"] = "b"
	})
	want("a closed partition", "0:a 2:a 3:a")
	l.edit(t, scale(3, "[1]", 2))
	want("an open partition", "0:a 2:b 3:b")
	l.edit(t, scale(4, "[]", 2))
	want("a slot less", "0:a 1:a 2:b 3:b")
	l.edit(t, scale(4, "[]", 0))
	want("all open", "0:b 1:b 2:b 3:b")
	u, err := l.Dynamic.Resource(Resource).Namespace("db").Get(t.Context(), "kv", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	current, _, _ := unstructured.NestedString(u.Object, "status", "currentRevision")
	update, _, _ := unstructured.NestedString(u.Object, "status", "updateRevision")
	seen, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if current != update || current == "kv-old" || seen != u.GetGeneration() {
		t.Errorf("status %v, generation %d", u.Object["status"], u.GetGeneration())
	}
}
