package render

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func podOf() corev1.PodTemplateSpec {
	size := resource.MustParse("1Gi")
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"a": "1", "b": "2"},
			Annotations: map[string]string{"c": "3"},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "x",
				Env:  []corev1.EnvVar{{Name: "A"}, {Name: "B"}},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
					corev1.ResourceCPU:    resource.MustParse("1500m"),
					corev1.ResourceMemory: resource.MustParse("2Gi"),
				}},
			}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size},
			}}},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "k"}},
			}},
		},
	}
}

func TestFingerprint(t *testing.T) {
	limits := func(p *corev1.PodTemplateSpec) corev1.ResourceList { return p.Spec.Containers[0].Resources.Limits }
	term := func(p *corev1.PodTemplateSpec) *corev1.PodAffinityTerm {
		return &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	}
	for name, tt := range map[string]struct {
		edit func(*corev1.PodTemplateSpec)
		same bool
	}{
		"nothing":         {func(*corev1.PodTemplateSpec) {}, true},
		"empty list":      {func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations = []corev1.Toleration{} }, true},
		"empty map":       {func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{} }, true},
		"empty inner map": {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{} }, true},
		"CPU in other words": {func(p *corev1.PodTemplateSpec) {
			limits(p)[corev1.ResourceCPU] = resource.MustParse("1.5")
		}, true},
		"memory in other words": {func(p *corev1.PodTemplateSpec) {
			limits(p)[corev1.ResourceMemory] = resource.MustParse("2147483648")
		}, true},
		"volume size in other words": {func(p *corev1.PodTemplateSpec) {
			size := resource.MustParse("1024Mi")
			p.Spec.Volumes[0].EmptyDir.SizeLimit = &size
		}, true},
		"time of creation":      {func(p *corev1.PodTemplateSpec) { p.CreationTimestamp = metav1.Now() }, true},
		"very old record":       {func(p *corev1.PodTemplateSpec) { p.Annotations[annLastApplied] = "{}" }, true},
		"other label":           {func(p *corev1.PodTemplateSpec) { p.Labels["a"] = "x" }, false},
		"more annotations":      {func(p *corev1.PodTemplateSpec) { p.Annotations["d"] = "" }, false},
		"other image":           {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "y" }, false},
		"other order":           {func(p *corev1.PodTemplateSpec) { e := p.Spec.Containers[0].Env; e[0], e[1] = e[1], e[0] }, false},
		"more CPU":              {func(p *corev1.PodTemplateSpec) { limits(p)[corev1.ResourceCPU] = resource.MustParse("1501m") }, false},
		"less memory":           {func(p *corev1.PodTemplateSpec) { limits(p)[corev1.ResourceMemory] = resource.MustParse("2G") }, false},
		"selects all, not none": {func(p *corev1.PodTemplateSpec) { term(p).LabelSelector = &metav1.LabelSelector{} }, false},
		"explicitly no sysctls": {func(p *corev1.PodTemplateSpec) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{}}
		}, false},
		"explicit false": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(bool)}
		}, false},
		"zero grace, not default": {func(p *corev1.PodTemplateSpec) { p.Spec.TerminationGracePeriodSeconds = new(int64) }, false},
	} {
		p := podOf()
		tt.edit(&p)
		if same := fingerprint(p) == fingerprint(podOf()); same != tt.same {
			t.Errorf("%s: the same is %t", name, same)
		}
	}
}

func TestFingerprintKeepsItsArgument(t *testing.T) {
	p := podOf()
	p.Annotations[annLastApplied] = "{}"
	fingerprint(p)
	if _, ok := p.Annotations[annLastApplied]; !ok {
		t.Error("an annotation is gone")
	}
	if q := p.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]; q.String() != "2Gi" {
		t.Errorf("a quantity became %s", q.String())
	}
}

func TestTemplate(t *testing.T) {
	w := want(t, load(t, "basic"), nothing(), state.Snapshot{})
	live := created(t, w).Sets[topology.TiKV]
	wanted := groupOf(t, w, topology.TiKV).Template
	if got := Template(live); got != wanted {
		t.Errorf("fingerprint of the live set is %s, of the wanted one %s", got, wanted)
	}
	live.Spec.Template.Spec.Containers[0].Image = "edited-by-hand"
	if got := Template(live); got != wanted {
		t.Error("a live edit changed what was applied")
	}
	live.Annotations[annLastApplied] = "{"
	if got := Template(live); got != "" {
		t.Errorf("a damaged record has fingerprint %s", got)
	}
	delete(live.Annotations, annLastApplied)
	if got := Template(live); got != "" {
		t.Errorf("no record has fingerprint %s", got)
	}
	if got := Template(nil); got != "" {
		t.Errorf("no set has fingerprint %s", got)
	}
}
