package kubernetes

import (
	"reflect"
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// claimed returns the members of a cluster with the claims that have their data.
func (b *Bridge) claimed(c topology.Cluster) map[topology.Kind]state.Group {
	all := map[topology.Kind]state.Group{}
	for _, g := range c.Groups {
		got := state.Group{Set: state.Set{Replicas: g.Replicas, Slots: g.Slots}}
		for _, n := range got.Set.Ordinals().All() {
			m := state.Member{Kind: g.Kind, Ordinal: n, Name: c.PodName(g.Kind, n)}
			if claim, there := get[*corev1.PersistentVolumeClaim](b, claims, sim.VolumeOf(g.Kind)+"-"+m.Name); there {
				m.Claims = []state.Claim{{
					UID: string(claim.UID), Template: sim.VolumeOf(g.Kind), Class: *claim.Spec.StorageClassName, Requested: topology.Size(sizeOf(claim)) * gi,
				}}
			}
			got.Members = append(got.Members, m)
		}
		all[g.Kind] = got
	}
	return all
}

// writtenIntent tells the model what the user wants, as the TidbCluster says.
func (b *Bridge) writtenIntent() {
	u, there := get[*unstructured.Unstructured](b, tidbClusters, Name)
	if !there || !b.changed("intent", string(u.GetUID())+"/"+u.GetResourceVersion()+"/"+b.generations()) {
		return
	}
	tc := &v1alpha1.TidbCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, tc); err != nil {
		return // a client finds out as well
	}
	c := topology.New(tc).Numbered(b.advanced, func(topology.Kind) int { return 0 })
	b.cluster.Reclaims = c.Reclaims
	b.model.AskCluster(desired.WithVolumesReplaced(c, b.claimed(c)))
	b.wantTemplates(c)
	for _, g := range c.Groups {
		asked := sim.Asked{
			Replicas: g.Replicas, Slots: g.Slots, Manual: g.Manual, Suspend: g.Suspend, Held: g.Held, Canary: g.Canary, Template: b.intent.templates[g.Kind],
			Failures: g.Failures,
		}
		if v, ok := g.Volume(sim.VolumeOf(g.Kind)); ok {
			asked.Size, asked.Attributes = int(v.Size/gi), v.Attributes
		}
		b.model.Ask(g.Kind, asked)
	}
}

// intent is what a user wanted when that was last rendered, and the names of the templates that were rendered. Most
// writes of a TidbCluster change its status, on which no template depends, and it takes long to render.
type intent struct {
	cluster   topology.Cluster
	beside    string // the versions of the objects that are rendered from
	templates map[topology.Kind]string
}

// wantTemplates finds out which pod templates a user wants.
func (b *Bridge) wantTemplates(c topology.Cluster) {
	now := intent{cluster: withoutStatus(c), beside: b.generations(), templates: map[topology.Kind]string{}}
	for _, s := range list[*corev1.Service](b, services) {
		now.beside += s.Name + s.ResourceVersion + " "
	}
	for _, m := range list[*corev1.ConfigMap](b, configMaps) {
		now.beside += m.Name + m.ResourceVersion + " "
	}
	if now.beside == b.intent.beside && reflect.DeepEqual(now.cluster, b.intent.cluster) {
		return
	}
	wanted := b.wanted(c)
	for _, g := range c.Groups {
		now.templates[g.Kind] = b.wantedTemplate(wanted, g.Kind)
	}
	b.intent = now
}

// withoutStatus returns a cluster without what is in its status, except for the ID of the database. What an API
// server sets is left out too.
func withoutStatus(c topology.Cluster) topology.Cluster {
	source := *c.Source
	source.Status = v1alpha1.TidbClusterStatus{ClusterID: source.Status.ClusterID}
	source.ManagedFields, source.ResourceVersion, source.Generation = nil, "", 0
	c.Source, c.Written = &source, nil // which is Source without defaults
	return c
}

// generations are those of the StatefulSets, which say when what is wanted of their templates may have changed.
func (b *Bridge) generations() string {
	text := ""
	for _, k := range sim.Kinds() {
		if set, there := b.set(k); there {
			text += set.Name + strconv.FormatInt(set.Generation, 10) + " "
		}
	}
	return text
}

// wanted returns the objects that the plugin would make of a TidbCluster. Which template a user asks for depends on
// what there is.
func (b *Bridge) wanted(c topology.Cluster) desired.State {
	have := state.Existing{
		Services: map[string]*corev1.Service{}, ConfigMaps: map[string]*corev1.ConfigMap{},
		Sets: map[topology.Kind]*appsv1.StatefulSet{}, Pods: map[topology.Kind]*corev1.PodSpec{},
	}
	for _, s := range list[*corev1.Service](b, services) {
		have.Services[s.Name] = s
	}
	for _, m := range list[*corev1.ConfigMap](b, configMaps) {
		have.ConfigMaps[m.Name] = m
	}
	for _, k := range sim.Kinds() {
		if set, ok := b.set(k); ok {
			have.Sets[k] = set
		}
	}
	wanted, err := render.Want(state.Observation{Cluster: c, Existing: have, Snapshot: state.Snapshot{At: b.model.Now()}})
	if err != nil {
		return desired.State{} // what is refused is never written
	}
	return wanted
}

// wantedTemplate returns the model's name of the template that is wanted of a component, "" where it is not known.
func (b *Bridge) wantedTemplate(wanted desired.State, k topology.Kind) string {
	g, ok := wanted.Group(k)
	set, made := g.Set.Manifest.(*appsv1.StatefulSet)
	if !ok || !made {
		return ""
	}
	if live, there := b.set(k); there && render.Template(live) == g.Template && !b.templates[k].others[digestOf(live.Spec.Template)] {
		return b.templates[k].name(k, live)
	}
	name := templateName(k, g.Template, set.Spec.Template)
	b.templates[k].wanted[name] = set.Spec.Template
	return name
}
