package admission

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// wanted is what is wanted of a new cluster of PD and TiKV.
func wanted(t *testing.T) desired.State {
	t.Helper()
	storage := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}
	class := "high"
	tc := &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0",
			PD:      &v1alpha1.PDSpec{BaseImage: "pingcap/pd", Replicas: 1, ResourceRequirements: storage},
			TiKV: &v1alpha1.TiKVSpec{
				BaseImage: "pingcap/tikv", Replicas: 1, ResourceRequirements: storage,
				ComponentSpec: v1alpha1.ComponentSpec{PriorityClassName: &class, Tolerations: []corev1.Toleration{{Key: "a"}, {Key: "b", Effect: "No"}}},
			},
		},
	}
	w, err := render.Want(state.Observation{Cluster: topology.New(tc), Existing: state.Existing{}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// server refuses the objects of TiKV of one resource. It fails the test if it is asked for more than a dry run.
type server struct {
	*fake.Clientset
	mu    sync.Mutex
	asked map[string]int
}

func refusing(t *testing.T, of string, refusal error) *server {
	s := &server{Clientset: fake.NewClientset(), asked: map[string]int{}}
	s.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := a.(clienttesting.CreateActionImpl)
		if !ok {
			t.Errorf("asked to %s %s", a.GetVerb(), a.GetResource().Resource)
			return false, nil, nil
		}
		if len(create.CreateOptions.DryRun) != 1 {
			t.Errorf("%s is made", a.GetResource().Resource)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked[a.GetResource().Resource]++
		m, err := metaOf(create.Object)
		if err != nil {
			t.Error(err)
		}
		if len(m.GetOwnerReferences()) > 0 {
			t.Errorf("%s has an owner without a UID", a.GetResource().Resource)
		}
		if a.GetResource().Resource == of && m.GetLabels()[topology.LabelComponent] == "tikv" {
			return true, nil, refusal
		}
		return true, create.Object, nil
	})
	return s
}

func metaOf(o runtime.Object) (metav1.Object, error) {
	m, ok := o.(metav1.Object)
	if !ok {
		return nil, errors.New("no object")
	}
	return m, nil
}

// TestAsk: what the API server refuses for good is a reason, with the field of the TidbCluster; what may pass, and what
// cannot be asked, is a note.
func TestAsk(t *testing.T) {
	pods, sets := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	forbidden := func(why string) error { return apierrors.NewForbidden(pods, "basic-tikv-x", errors.New(why)) }
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "basic-tikv", field.ErrorList{
		field.NotSupported(field.NewPath("spec", "template", "spec", "tolerations").Index(1).Child("effect"), "No", []string{"NoSchedule"}),
		field.Invalid(field.NewPath("spec", "podManagementPolicy"), "x", "is odd"),
	})
	for name, tt := range map[string]struct {
		of            string
		err           error
		refused, note string
	}{
		"nothing":                     {"", nil, "", ""},
		"a field of the pod template": {"statefulsets", invalid, "spec.tikv.tolerations[1].effect: Unsupported value: \"No\": supported values: \"NoSchedule\"", ""},
		"a field of ours":             {"statefulsets", invalid, "spec.tikv: the API server takes no such StatefulSet: spec.podManagementPolicy: Invalid value", ""},
		"no priority class":           {"pods", forbidden("no PriorityClass with name high was found"), "spec.tikv.priorityClassName: the API server takes no such pod: no PriorityClass with name high was found", ""},
		"pod security":                {"pods", forbidden(`violates PodSecurity "restricted:latest": allowPrivilegeEscalation`), "violates PodSecurity", ""},
		"a limit range":               {"pods", forbidden("maximum memory usage per Container is 1Gi, but limit is 2Gi"), "spec.tikv: the API server takes no such pod: maximum memory", ""},
		"a quota that asks for more":  {"pods", forbidden("failed quota: q: must specify limits.cpu"), "must specify limits.cpu", ""},
		"a webhook that denies":       {"statefulsets", apierrors.NewForbidden(sets, "basic-tikv", errors.New(`admission webhook "a.b" denied the request: no`)), "denied the request: no", ""},
		"a quota that is used up":     {"pods", forbidden("exceeded quota: q, requested: cpu=1, used: cpu=2, limited: cpu=2"), "", "would not take the pod of TiKV now, and pods wait until it does: exceeded quota"},
		"no service account":          {"pods", forbidden(`error looking up service account db/mine: serviceaccount "mine" not found`), "", "service account"},
		"no right":                    {"pods", forbidden(`User "u" cannot create resource "pods" in API group ""`), "", "did not say whether it takes the pod of TiKV"},
		"a webhook without dry runs":  {"statefulsets", apierrors.NewBadRequest(`admission webhook "a.b" does not support dry run`), "", "does not support dry run"},
		"a fault":                     {"services", apierrors.NewInternalError(errors.New("etcd")), "", "etcd"},
		"no answer":                   {"configmaps", errors.New("connection refused"), "", "connection refused"},
		"no namespace":                {"statefulsets", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "db"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Ask(t.Context(), refusing(t, tt.of, tt.err), wanted(t))
			var refused []string
			for _, err := range got.Refused {
				refused = append(refused, err.Error())
			}
			for _, c := range []struct{ all, want string }{{strings.Join(refused, "\n"), tt.refused}, {strings.Join(got.Notes, "\n"), tt.note}} {
				if !strings.Contains(c.all, c.want) || (c.want == "") != (c.all == "") {
					t.Errorf("got %q, want %q", c.all, c.want)
				}
				if strings.Contains(c.all, "basic-tikv-x") {
					t.Errorf("names a pod that never was: %s", c.all)
				}
			}
		})
	}
}

// TestAskAboutChanges: nothing is asked where nothing would change, and a quota that is used up is no matter of a
// rollout, which replaces pods.
func TestAskAboutChanges(t *testing.T) {
	w := wanted(t)
	for i := range w.Objects {
		w.Objects[i].Drift = desired.None
	}
	for i := range w.Groups {
		g := &w.Groups[i]
		g.Set.Drift = desired.None
		for j := range g.Services {
			g.Services[j].Drift = desired.None
		}
		for j := range g.Config {
			g.Config[j].Drift = desired.None
		}
	}
	s := refusing(t, "", nil)
	if got := Ask(t.Context(), s, w); len(got.Refused)+len(got.Notes)+len(s.asked) > 0 {
		t.Errorf("%+v, asked %v", got, s.asked)
	}
	kv := &w.Groups[1].Set
	live := kv.Manifest.(*appsv1.StatefulSet).DeepCopy()
	live.Spec.Template.Spec.SchedulerName = "another"
	kv.Drift = desired.Differs
	kube := fake.NewClientset(live)
	kube.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New("exceeded quota: q"))
	})
	if got := Ask(t.Context(), kube, w); len(got.Refused)+len(got.Notes) > 0 {
		t.Errorf("%+v", got)
	}
	if made := len(kube.Actions()); made != 3 { // get, update and a pod
		t.Errorf("%v", kube.Actions())
	}
}

// TestAskAboutOtherVolumes: a StatefulSet that is made again with other volumes is asked about as a new one. The API
// server refuses any update of claim templates.
func TestAskAboutOtherVolumes(t *testing.T) {
	w := wanted(t)
	kv := &w.Groups[1].Set
	live := kv.Manifest.(*appsv1.StatefulSet).DeepCopy()
	live.Spec.VolumeClaimTemplates[0].Name = "another"
	kv.Drift = desired.Differs
	w.Groups, w.Objects = w.Groups[1:2], nil
	w.Groups[0].Services, w.Groups[0].Config = nil, nil
	kube := fake.NewClientset(live)
	kube.PrependReactor("update", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("claim templates cannot be changed")
	})
	if got := Ask(t.Context(), kube, w); len(got.Refused)+len(got.Notes) > 0 {
		t.Errorf("%+v", got)
	}
	verbs := ""
	for _, a := range kube.Actions() {
		verbs += a.GetVerb() + " " + a.GetResource().Resource + ", "
	}
	if verbs != "get statefulsets, create statefulsets, " {
		t.Error(verbs)
	}
}
