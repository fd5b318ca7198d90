package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var changedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// writtenBy records that a field manager has written fields of a pod template, as the API server does.
func writtenBy(set *appsv1.StatefulSet, name string, at time.Time, fields string) {
	set.ManagedFields = append(set.ManagedFields, metav1.ManagedFieldsEntry{
		Manager: name, Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: at},
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":` + fields + `}}}`),
	})
}

const imageField = `{"f:containers":{"k:{\"name\":\"%s\"}":{".":{},"f:image":{}}}}`

// setImage is "kubectl set image" of a component's main container.
func setImage(set *appsv1.StatefulSet, k topology.Kind, image string) {
	container(set, string(k)).Image = image
	set.Generation++
}

func container(set *appsv1.StatefulSet, name string) *corev1.Container {
	list := set.Spec.Template.Spec.Containers
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func seen(at time.Time) state.Snapshot { return state.Snapshot{At: at} }

// What a person changes in the live pod template of any component is named and put back.
func TestPutBack(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*appsv1.StatefulSet, *corev1.PodSpec, *corev1.Container)
		want []string
		// lacks reports whether a component has no such field.
		lacks func(*corev1.PodSpec, *corev1.Container) bool
	}{
		"image": {func(_ *appsv1.StatefulSet, _ *corev1.PodSpec, c *corev1.Container) { c.Image = "pingcap/x:v8.1.0" }, []string{".image is pingcap/x:v8.1.0, and "}, nil},
		"command": {func(_ *appsv1.StatefulSet, _ *corev1.PodSpec, c *corev1.Container) {
			c.Command = c.Command[1:]
		},
			[]string{".command is "}, nil},
		"a port":              {func(_ *appsv1.StatefulSet, _ *corev1.PodSpec, c *corev1.Container) { c.Ports[0].ContainerPort++ }, []string{"].containerPort is "}, nil},
		"a container is gone": {func(_ *appsv1.StatefulSet, p *corev1.PodSpec, _ *corev1.Container) { p.Containers = p.Containers[1:] }, []string{"] is gone"}, nil},
		"a mount is gone": {func(_ *appsv1.StatefulSet, _ *corev1.PodSpec, c *corev1.Container) {
			c.VolumeMounts = c.VolumeMounts[1:]
		},
			[]string{"volumeMounts[", "] is gone"}, func(_ *corev1.PodSpec, c *corev1.Container) bool { return len(c.VolumeMounts) == 0 }},
		"another ConfigMap": {func(_ *appsv1.StatefulSet, p *corev1.PodSpec, _ *corev1.Container) {
			for _, v := range p.Volumes {
				if v.ConfigMap != nil {
					v.ConfigMap.Name += "-old"
				}
			}
		}, []string{"configMap.name is ", "-old, and "}, func(p *corev1.PodSpec, _ *corev1.Container) bool {
			return !slices.ContainsFunc(p.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil })
		}},
		"a label is gone": {func(s *appsv1.StatefulSet, _ *corev1.PodSpec, _ *corev1.Container) {
			delete(s.Spec.Template.Labels, topology.LabelManagedBy)
		}, []string{"labels.app.kubernetes.io/managed-by is gone"}, nil},
		"a variable, which is not shown": {func(_ *appsv1.StatefulSet, _ *corev1.PodSpec, c *corev1.Container) {
			for i := range c.Env {
				if c.Env[i].Value != "" {
					c.Env[i].Value = "secret"
				}
			}
		}, []string{"].value is not what was applied"}, func(_ *corev1.PodSpec, c *corev1.Container) bool {
			return !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Value != "" })
		}},
		"several": {func(_ *appsv1.StatefulSet, p *corev1.PodSpec, c *corev1.Container) {
			c.Image = "x:v8.1.0"
			p.Containers = append(p.Containers, *c.DeepCopy())
			c.Name = "x"
			p.Containers[len(p.Containers)-1].Resources.Limits = nil
		}, []string{".image is x:v8.1.0"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, "flash", withAll)
			have := created(t, want(t, c, nothing(), state.Snapshot{}))
			for _, g := range c.Groups {
				live := have.Sets[g.Kind]
				before := live.DeepCopy()
				main := container(live, string(g.Kind))
				if tc.lacks != nil && tc.lacks(&live.Spec.Template.Spec, main) {
					continue
				}
				tc.edit(live, &live.Spec.Template.Spec, main)
				live.Generation = 7
				got := groupOf(t, want(t, c, have, seen(changedAt)), g.Kind)
				text := ""
				for _, e := range got.PutBack.Edits {
					text += e.String() + "\n"
				}
				for _, part := range tc.want {
					if !strings.Contains(text, part) {
						t.Errorf("%s: %q is not in\n%s", g.Kind, part, text)
					}
				}
				if strings.Contains(text, "secret") {
					t.Errorf("%s: a value is shown: %s", g.Kind, text)
				}
				if got.PutBack.Drift != desired.Differs || got.PutBack.Generation != 7 {
					t.Fatalf("%s: put back: %+v", g.Kind, got.PutBack)
				}
				if got.Set.Drift != desired.None {
					t.Errorf("%s: the wanted template differs from the one that was applied", g.Kind)
				}
				back := merged(t, live, got.PutBack.Manifest.(*appsv1.StatefulSet))
				if len(edited(back)) > 0 || Template(back) != Template(before) || setDrift(back, setOf(t, want(t, c, have, seen(changedAt)), g.Kind)) != desired.None {
					t.Errorf("%s: not put back: %v", g.Kind, edited(back))
				}
				if *partition(back) != *back.Spec.Replicas {
					t.Errorf("%s: the partition is open", g.Kind)
				}
				have.Sets[g.Kind] = back
				if again := groupOf(t, want(t, c, have, seen(changedAt)), g.Kind).PutBack; again.Drift != desired.None {
					t.Errorf("%s: put back without an end: %v", g.Kind, again.Edits)
				}
			}
		})
	}
}

// What others add beside the fields that were applied stays, and is no reason to write.
func TestAdditionsStay(t *testing.T) {
	for name, edit := range map[string]func(*appsv1.StatefulSet){
		"kubectl rollout restart": func(s *appsv1.StatefulSet) {
			s.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
		},
		"a sidecar first": func(s *appsv1.StatefulSet) {
			p := &s.Spec.Template.Spec
			p.Containers = append([]corev1.Container{{Name: "proxy", Image: "proxy:v1"}}, p.Containers...)
		},
		"a variable and a mount": func(s *appsv1.StatefulSet) {
			c := container(s, s.Labels[topology.LabelComponent])
			c.Env = append([]corev1.EnvVar{{Name: "A", Value: "b"}}, c.Env...)
			c.VolumeMounts = append([]corev1.VolumeMount{{Name: "a", MountPath: "/a"}}, c.VolumeMounts...)
		},
		"a toleration": func(s *appsv1.StatefulSet) {
			p := &s.Spec.Template.Spec
			p.Tolerations = append([]corev1.Toleration{{Key: "zone"}}, p.Tolerations...)
		},
		"defaults": func(s *appsv1.StatefulSet) {
			p := &s.Spec.Template.Spec
			p.RestartPolicy, p.DeprecatedServiceAccount = corev1.RestartPolicyAlways, "default"
			for i := range p.Containers {
				p.Containers[i].ImagePullPolicy = corev1.PullIfNotPresent
				if probe := p.Containers[i].ReadinessProbe; probe != nil {
					probe.PeriodSeconds = 10
				}
			}
			for i := range p.Volumes {
				if p.Volumes[i].ConfigMap != nil {
					p.Volumes[i].ConfigMap.DefaultMode = new(int32)
				}
			}
		},
		"an amount in other words": func(s *appsv1.StatefulSet) {
			for i := range s.Spec.Template.Spec.Containers {
				for _, list := range []corev1.ResourceList{s.Spec.Template.Spec.Containers[i].Resources.Requests, s.Spec.Template.Spec.Containers[i].Resources.Limits} {
					for key, q := range list {
						list[key] = resource.MustParse(q.AsDec().String())
					}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, "flash", withAll)
			have := created(t, want(t, c, nothing(), state.Snapshot{}))
			for _, s := range have.Sets {
				if s.Spec.Template.Annotations == nil {
					s.Spec.Template.Annotations = map[string]string{}
				}
				edit(s)
			}
			for _, g := range want(t, c, have, seen(changedAt)).Groups {
				if g.PutBack.Drift != desired.None || g.Set.Drift != desired.None || len(g.Notices)+len(g.Lacks) > 0 {
					t.Errorf("%s: %v, %v, %v", g.Kind, g.PutBack.Edits, g.Notices, g.Lacks)
				}
			}
		})
	}
}

// Lists without names are compared by their elements, and an amount below a thousandth counts as Kubernetes
// rounds it.
func TestEditedLists(t *testing.T) {
	pod := func() corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Key: "a"}, {Key: "b"}},
			Volumes:     []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{
				Name: "x", Env: []corev1.EnvVar{{Name: "E", Value: "1"}, {Name: "E", Value: "2"}},
				Ports:     []corev1.ContainerPort{{ContainerPort: 1}, {ContainerPort: 1, Protocol: "UDP"}},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("100500u")}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(1)},
				}},
			}},
		}}
	}
	for name, tc := range map[string]struct {
		edit func(*corev1.PodSpec)
		want string
	}{
		"nothing":      {func(*corev1.PodSpec) {}, ""},
		"order":        {func(p *corev1.PodSpec) { p.Tolerations = []corev1.Toleration{{Key: "b"}, {Key: "a"}} }, ""},
		"rounded":      {func(p *corev1.PodSpec) { p.Containers[0].Resources.Limits["cpu"] = resource.MustParse("101m") }, ""},
		"a toleration": {func(p *corev1.PodSpec) { p.Tolerations[1].Key = "c" }, "tolerations"},
		"a second one": {func(p *corev1.PodSpec) { p.Containers[0].Env[1].Value = "3" }, "containers[x].env[E].value"},
		"a source": {func(p *corev1.PodSpec) {
			p.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}
		}, "volumes[v].emptyDir"},
		"a probe": {func(p *corev1.PodSpec) { p.Containers[0].LivenessProbe = nil }, "containers[x].livenessProbe"},
		"a handler": {func(p *corev1.PodSpec) {
			p.Containers[0].LivenessProbe.ProbeHandler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}
		}, "containers[x].livenessProbe.httpGet"},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: pod()}}
			setLastApplied(&set.ObjectMeta, set.Spec)
			tc.edit(&set.Spec.Template.Spec)
			var fields []string
			for _, e := range edited(set) {
				fields = append(fields, e.Field)
			}
			if got := strings.Join(fields, " "); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// Who has written a field is read from the API server's record of field managers.
func TestWriter(t *testing.T) {
	c := load(t, "basic")
	have := created(t, want(t, c, nothing(), state.Snapshot{}))
	live := have.Sets[topology.TiKV]
	image := fmt.Sprintf(imageField, "tikv")
	writtenBy(live, FieldManager, changedAt.Add(-time.Hour), image)
	writtenBy(live, "kubectl-set", changedAt, image)
	writtenBy(live, "kubectl-annotate", changedAt.Add(time.Hour), `{"f:nodeSelector":{}}`)
	writtenBy(live, "kube-controller-manager", changedAt.Add(time.Hour), image)
	live.ManagedFields[3].Subresource = "status"
	setImage(live, topology.TiKV, "pingcap/tikv:v8.1.1")
	container(live, "tikv").Command = nil
	edits := groupOf(t, want(t, c, have, seen(changedAt)), topology.TiKV).PutBack.Edits
	if len(edits) != 2 || edits[1].Manager != "kubectl-set" || !edits[1].At.Equal(changedAt) {
		t.Errorf("%+v", edits)
	}
	if edits[0].Manager != "" || edits[0].String() != "containers[tikv].command is gone" {
		t.Errorf("%+v", edits[0])
	}
}

// A webhook that changes what is written is not written against, and a person who changes a field once
// more is.
func TestInsisting(t *testing.T) {
	const digest = "pingcap/tikv@sha256:05b59d689b7812cfc31a3a2eb70fe18d3adea74a1d572fbf1a91294e091359e7"
	image := fmt.Sprintf(imageField, "tikv")
	for name, tc := range map[string]struct {
		live        string
		writer      string
		after       time.Duration // after the field was put back
		back, block bool
	}{
		"the webhook, in our own write":            {live: digest, writer: FieldManager},
		"a webhook, in an operator's write before": {live: digest, writer: "tidb-controller-manager", after: -time.Hour},
		"a controller": {live: digest, writer: "policies", after: time.Second},
		"the same value, with no record of writers": {live: digest},
		"another registry":                          {live: "mirror.local/tikv:v8.1.0", writer: FieldManager},
		"another value, with no record of writers":  {live: "pingcap/tikv@sha256:0", back: true},
		"a person, an hour later":                   {live: digest, writer: "kubectl-set", after: time.Hour, back: true},
		"a webhook with another release":            {live: "pingcap/tikv:v8.1.1", writer: FieldManager, block: true},
		"a controller with a higher release":        {live: "pingcap/tikv:v8.5.0", writer: "policies", after: time.Minute, block: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, "basic")
			have := created(t, want(t, c, nothing(), state.Snapshot{}))
			live := have.Sets[topology.TiKV]
			applied := container(live, "tikv").Image
			setImage(live, topology.TiKV, digest)
			first := groupOf(t, want(t, c, have, seen(changedAt)), topology.TiKV).PutBack
			live = merged(t, live, first.Manifest.(*appsv1.StatefulSet))
			if container(live, "tikv").Image != applied {
				t.Fatalf("not put back: %s", container(live, "tikv").Image)
			}
			have.Sets[topology.TiKV] = live
			setImage(live, topology.TiKV, tc.live)
			if tc.writer != "" {
				writtenBy(live, tc.writer, changedAt.Add(tc.after), image)
			}
			got := groupOf(t, want(t, c, have, seen(changedAt.Add(2*time.Hour))), topology.TiKV)
			if back := got.PutBack.Drift != desired.None; back != tc.back {
				t.Errorf("put back again: %v, %v", back, got.PutBack.Edits)
			}
			if block := len(got.Lacks) > 0; block != tc.block {
				t.Errorf("blocked: %v", got.Lacks)
			}
			noticed := len(got.Notices) == 1 && got.Notices[0].Reason == event.TemplateOfOthers && strings.Contains(got.Notices[0].Text, tc.live)
			if noticed == (tc.back || tc.block) {
				t.Errorf("notices: %v", got.Notices)
			}
		})
	}
}

// An object that is being deleted is not written, and without a record the whole template is written anyway.
func TestNotPutBack(t *testing.T) {
	c := load(t, "basic")
	have := created(t, want(t, c, nothing(), state.Snapshot{}))
	live := have.Sets[topology.TiKV]
	setImage(live, topology.TiKV, "pingcap/tikv:v8.1.1")
	live.DeletionTimestamp = &metav1.Time{Time: changedAt}
	if got := groupOf(t, want(t, c, have, seen(changedAt)), topology.TiKV).PutBack; got.Drift != desired.None {
		t.Errorf("being deleted: %v", got.Edits)
	}
	live.DeletionTimestamp = nil
	delete(live.Annotations, annLastApplied)
	got := groupOf(t, want(t, c, have, seen(changedAt)), topology.TiKV)
	if got.PutBack.Drift != desired.None || got.Set.Drift != desired.Differs {
		t.Errorf("without a record: %v, %v", got.PutBack.Edits, got.Set.Drift)
	}
}

// A change of the spec does not come along with what is put back: its rollout has its own turn.
func TestPutBackIsNoRollout(t *testing.T) {
	have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	live := have.Sets[topology.TiKV]
	applied := container(live, "tikv").Image
	setImage(live, topology.TiKV, "pingcap/tikv:v8.1.1")
	next := load(t, "basic")
	for i := range next.Groups {
		next.Groups[i].Image, next.Groups[i].Version = "pingcap/"+string(next.Groups[i].Kind)+":v9.0.0", "v9.0.0"
	}
	got := groupOf(t, want(t, next, have, seen(changedAt)), topology.TiKV)
	if image := container(merged(t, live, got.PutBack.Manifest.(*appsv1.StatefulSet)), "tikv").Image; image != applied || got.Set.Drift != desired.Differs {
		t.Errorf("written: %s, want %s", image, applied)
	}
}
