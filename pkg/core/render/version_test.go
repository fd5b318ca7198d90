package render

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	profiles "github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestTemplateVersion: a change of what is rendered into pods raises TemplateVersion,
// or an older release rolls the pods back.
func TestTemplateVersion(t *testing.T) {
	const version, digest = 1, "4acd3fb00edfdde1"
	sum := sha256.New()
	for _, name := range []string{"basic", "rich", "odd"} {
		golden, err := os.ReadFile(filepath.Join("testdata", name+".golden.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for doc := range bytes.SplitSeq(golden, []byte("---\n")) {
			if !bytes.Contains(doc, []byte("\nkind: Service\n")) {
				sum.Write(doc)
			}
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)[:8]); got != digest || version != TemplateVersion {
		t.Errorf("the golden StatefulSets and ConfigMaps have the digest %s now, TemplateVersion is %d.\n"+
			"If an unchanged TidbCluster gets another pod template, start script or configuration, raise TemplateVersion. "+
			"Then write both values into this test.", got, TemplateVersion)
	}
}

// inKubernetes has the objects in Kubernetes, and the records in the ledger.
type inKubernetes struct {
	have    state.Existing
	records map[topology.Kind]state.Template
}

// newest returns what a newer version of this tool wants: pods with one more variable, and another
// start script.
func (in inKubernetes) newest(t *testing.T, c topology.Cluster) desired.State {
	t.Helper()
	w := want(t, c, in.have, state.Snapshot{})
	for i := range w.Groups {
		g := &w.Groups[i]
		set := setOf(t, w, g.Kind)
		main := &set.Spec.Template.Spec.Containers[len(set.Spec.Template.Spec.Containers)-1]
		main.Env = append(main.Env, value("NEWER", "1"))
		setLastApplied(&set.ObjectMeta, set.Spec)
		g.Template = fingerprint(set.Spec.Template)
		g.Set.Drift = setDrift(in.have.Sets[g.Kind], set)
		g.Set.Record = recordOf(g.Group, set)
		g.Set.Record.Version = TemplateVersion + 1
		for j := range g.Config {
			m := g.Config[j].Manifest.(*corev1.ConfigMap)
			m.Data[keyScript] = strings.TrimSuffix(m.Data[keyScript], "# newer\n") + "# newer\n"
			g.Config[j].Drift, g.Config[j].Record = configMapDrift(in.have.ConfigMaps[m.Name], m), g.Set.Record
		}
	}
	return w
}

// write writes objects that differ, as package act does.
func (in inKubernetes) write(t *testing.T, w desired.State) inKubernetes {
	t.Helper()
	next := inKubernetes{apply(t, w, in.have), maps.Clone(in.records)}
	for _, g := range w.Groups {
		for _, o := range append([]desired.Object{g.Set}, g.Config...) {
			if o.Drift != desired.None && o.Record != (state.Template{}) {
				next.records[g.Kind] = o.Record
			}
		}
	}
	return next
}

// older returns what this version wants.
func (in inKubernetes) older(t *testing.T, c topology.Cluster) desired.State {
	t.Helper()
	return want(t, c, in.have, state.Snapshot{Templates: in.records})
}

// writtenByNewer returns a cluster that a newer version of this tool has made.
func writtenByNewer(t *testing.T, edit ...func(*v1alpha1.TidbCluster)) inKubernetes {
	t.Helper()
	c := load(t, "basic", edit...)
	in := inKubernetes{have: created(t, want(t, c, nothing(), state.Snapshot{})), records: map[topology.Kind]state.Template{}}
	return in.write(t, in.newest(t, c))
}

func templates(in inKubernetes) map[topology.Kind]string {
	all := map[topology.Kind]string{}
	for k, set := range in.have.Sets {
		all[k] = Template(set)
	}
	return all
}

// TestVersionsTakeTurns: an older and a newer version of this tool drive the cluster
// in turn. Neither writes anything, so that no pod restarts, and the older one says
// why once for each component. Without records the older one rolls all pods back.
func TestVersionsTakeTurns(t *testing.T) {
	for _, edit := range []func(*v1alpha1.TidbCluster){inPlace, rolling} {
		c := load(t, "basic", edit)
		in := writtenByNewer(t, edit)
		before := templates(in)
		for range 3 {
			w := in.older(t, c)
			if found := drifts(w); len(found) > 0 {
				t.Fatalf("the older version writes %v", found)
			}
			p := plan.Decide(profiles.Profiles(), plan.Policy{}, w, state.Snapshot{Groups: map[topology.Kind]state.Group{}})
			if len(p.Notices) != len(basicKinds) || !strings.Contains(p.Notices[0].Text, "it is kept") {
				t.Errorf("got findings %+v", p.Notices)
			}
			in = in.write(t, w)
			if found := drifts(in.newest(t, c)); len(found) > 0 {
				t.Fatalf("the newer version writes %v", found)
			}
		}
		if !maps.Equal(before, templates(in)) {
			t.Error("a pod template has changed")
		}
		in.records = nil
		if w := in.older(t, c); groupOf(t, w, topology.TiKV).Set.Drift == desired.None {
			t.Error("without a record the newer version's template stays: this test cannot fail")
		}
	}
}

func inPlace(tc *v1alpha1.TidbCluster) {
	tc.Spec.ConfigUpdateStrategy = v1alpha1.ConfigUpdateStrategyInPlace
}

// TestOlderVersionScales: that does not reach the pods.
func TestOlderVersionScales(t *testing.T) {
	w := writtenByNewer(t).older(t, load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Replicas = 7 }))
	if found := drifts(w); len(found) > 0 {
		t.Errorf("writes %v", found)
	}
	if set := setOf(t, w, topology.TiKV); *set.Spec.Replicas != 7 {
		t.Errorf("%d replicas are wanted", *set.Spec.Replicas)
	}
}

// TestChangeUnderOlderVersion: what the user asks for is done, with a warning, for the
// component that it is asked for.
func TestChangeUnderOlderVersion(t *testing.T) {
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.NodeSelector = map[string]string{"disk": "fast"} })
	in := writtenByNewer(t)
	w := in.older(t, c)
	for _, g := range w.Groups {
		if changed := g.Set.Drift != desired.None; changed != (g.Kind == topology.TiKV) {
			t.Errorf("%s: written %t", g.Kind, changed)
		}
		if text := g.Notices[0].Text; strings.Contains(text, "this older version writes it") != (g.Kind == topology.TiKV) {
			t.Errorf("%s: got %q", g.Kind, text)
		}
	}
	in = in.write(t, w)
	if w = in.older(t, c); len(drifts(w)) > 0 || len(groupOf(t, w, topology.TiKV).Notices) > 0 {
		t.Errorf("written, and still to be written: %v", drifts(w))
	}
	if in.records[topology.TiKV].Version != TemplateVersion || in.records[topology.PD].Version != TemplateVersion+1 {
		t.Errorf("records %+v", in.records)
	}
}

// TestFieldsOfALaterDefinition: a template that a newer version has written is not
// written without the fields that are not known here, whatever the user asks for. The
// other components, and those that no newer version has written, are driven as ever.
func TestFieldsOfALaterDefinition(t *testing.T) {
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TiKV.NodeSelector = map[string]string{"disk": "fast"}
		tc.Spec.PD.NodeSelector = map[string]string{"disk": "fast"}
		topology.SetUnknown(tc, []string{"spec.tikv.later", "spec.tiflash.later"})
	})
	in := writtenByNewer(t)
	for _, g := range in.older(t, c).Groups {
		if written := g.Set.Drift != desired.None; written != (g.Kind == topology.PD) {
			t.Errorf("%s: written %t", g.Kind, written)
		}
		if (g.Kind == topology.TiKV) != (len(g.Lacks) == 1) {
			t.Errorf("%s: gates %v", g.Kind, g.Lacks)
		}
	}
	if g := groupOf(t, in.older(t, c), topology.TiKV); len(g.Lacks) == 1 && (g.Lacks[0].Need != desired.KnownSpec || g.Lacks[0].Want != "a version of this plugin that knows spec.tikv.later") {
		t.Errorf("%+v", g.Lacks[0])
	}
	in.records = nil
	if g := groupOf(t, in.older(t, c), topology.TiKV); g.Set.Drift == desired.None || len(g.Lacks) > 0 {
		t.Errorf("without a record: written %v, gates %v", g.Set.Drift, g.Lacks)
	}
}

// TestRecordOfAnotherTemplate: a record is of one template. Where tidb-operator, or
// anybody else, has written another one since, it is as if there were no record. The
// same holds where the one who made the record was killed before it wrote.
func TestRecordOfAnotherTemplate(t *testing.T) {
	c := load(t, "basic")
	in := writtenByNewer(t)
	in.have = created(t, want(t, c, nothing(), state.Snapshot{}))
	set := in.have.Sets[topology.TiKV]
	set.Spec.Template.Labels["operator"] = "1"
	setLastApplied(&set.ObjectMeta, set.Spec)
	for _, k := range basicKinds {
		g := groupOf(t, in.older(t, c), k)
		if written := g.Set.Drift != desired.None; written != (k == topology.TiKV) || len(g.Notices) > 0 {
			t.Errorf("%s: written %t, findings %v", k, written, g.Notices)
		}
	}
}

// TestKeptConfigurationIsGone: this version cannot write the newer one's start script.
func TestKeptConfigurationIsGone(t *testing.T) {
	in := writtenByNewer(t)
	delete(in.have.ConfigMaps, "basic-tikv")
	g := groupOf(t, in.older(t, load(t, "basic")), topology.TiKV)
	if g.Set.Drift != desired.None || len(g.Config) > 0 || len(g.Lacks) != 1 {
		t.Errorf("StatefulSet %v, ConfigMaps %v, gates %v", g.Set.Drift, g.Config, g.Lacks)
	}
}

// TestRecordIsBroughtUpToDate: the user has asked the newer version for something that
// changes no pod of the component. The record is of the new spec then, or the older
// version would take it for a change that it has to roll out.
func TestRecordIsBroughtUpToDate(t *testing.T) {
	const k = topology.PD
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		image := "busybox:1.37"
		tc.Spec.Helper = &v1alpha1.HelperSpec{Image: &image}
	})
	in := inKubernetes{created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{})), map[topology.Kind]state.Template{}}
	if g := groupOf(t, in.older(t, c), k); g.Set.Drift != desired.None {
		t.Fatal("written for a record, and there was none")
	}
	in.records[k] = groupOf(t, in.older(t, load(t, "basic")), k).Set.Record
	w := in.older(t, c)
	if g := groupOf(t, w, k); g.Set.Drift != desired.Differs || g.Template != Template(in.have.Sets[k]) {
		t.Fatal("the record stays as it is")
	}
	in = in.write(t, w)
	if g := groupOf(t, in.older(t, c), k); g.Set.Drift != desired.None {
		t.Error("written, and still to be written")
	}
}

// TestAsked: a field that changes the pods of a component changes what is asked for
// it, and one that changes nothing of them does not. There are two exceptions. Fields
// of the cluster as a whole count for all components, and Pump has fields without effect. The way of updating a
// configuration changes the name of the ConfigMap for the first pods only.
func TestAsked(t *testing.T) {
	whole := []string{"timezone", "startScriptVersion", "helper.image", "enableDynamicConfiguration", "preferIPv6", "mountClusterClientSecret without TLS",
		"pump.readinessProbe", "pump.additionalVolumes"}
	before := want(t, load(t, "flash", withAll), nothing(), state.Snapshot{})
	for _, v := range variants() {
		after := want(t, load(t, "flash", withAll, v.spec), nothing(), state.Snapshot{})
		for _, g := range before.Groups {
			now := groupOf(t, after, g.Kind)
			changed := now.Template != g.Template || !maps.Equal(configOf(t, before, g.Kind).Data, configOf(t, after, g.Kind).Data)
			switch asked := now.Asked != g.Asked; {
			case changed && !asked && v.name != "configUpdateStrategy":
				t.Errorf("%s: pods of %s change, and what is asked does not", v.name, g.Kind)
			case !changed && asked && !slices.Contains(whole, v.name):
				t.Errorf("%s: what is asked of %s changes, and its pods do not", v.name, g.Kind)
			}
		}
	}
}

// TestPodsAreTheSameForAllReleases: a digest in the cluster does not depend on fields
// that a release of the API types writes, and another one leaves out.
func TestPodsAreTheSameForAllReleases(t *testing.T) {
	digest := func(text string) string {
		set := &appsv1.StatefulSet{}
		set.Annotations = map[string]string{annLastApplied: text}
		return appliedPods(set)
	}
	one := digest(`{"template":{"metadata":{"creationTimestamp":null,"labels":{"a":"1"}},"spec":{"containers":[{"name":"x","resources":{}}]}},"replicas":3}`)
	if two := digest(`{"replicas":5,"template":{"spec":{"containers":[{"name":"x"}]},"metadata":{"labels":{"a":"1"}}}}`); one != two {
		t.Errorf("%s and %s", one, two)
	}
	if other := digest(`{"template":{"metadata":{"labels":{"a":"1"}},"spec":{"containers":[{"name":"y"}]}}}`); one == other {
		t.Error("another container has the same digest")
	}
}
