package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	initial1 = "basic-pd-0=http://basic-pd-0.basic-pd-peer.db.svc:2380"
	initial3 = initial1 +
		",basic-pd-1=http://basic-pd-1.basic-pd-peer.db.svc:2380" +
		",basic-pd-2=http://basic-pd-2.basic-pd-peer.db.svc:2380"
	url0 = "http://basic-pd-0.basic-pd-peer.db.svc:2379"
	url1 = "http://basic-pd-1.basic-pd-peer.db.svc:2379"
	url2 = "http://basic-pd-2.basic-pd-peer.db.svc:2379"
)

// silent returns a snapshot in which PD does not answer. Claims are listed by ordinal.
func silent(claims ...bool) state.Snapshot {
	s := state.Snapshot{PD: state.PD{Problem: "no pod of PD is running"}, Groups: map[topology.Kind]state.Group{}}
	var g state.Group
	for i, has := range claims {
		m := state.Member{Kind: topology.PD, Ordinal: i}
		if has {
			m.Claims = []state.Claim{{Name: "pd"}}
		}
		g.Members = append(g.Members, m)
	}
	s.Groups[topology.PD] = g
	return s
}

// answering returns a snapshot in which PD answers. Members are "+" healthy, "-" not
// healthy, "." not in PD, "?" not known; "f" are first members that have not started
// yet, "a" others that were added and have not.
func answering(members string) state.Snapshot {
	s := state.Snapshot{PD: state.PD{ClusterID: 7}, Groups: map[topology.Kind]state.Group{}}
	var g state.Group
	for i, c := range members {
		m := state.Member{Kind: topology.PD, Ordinal: i}
		switch c {
		case '+':
			m.Database = state.Database{Presence: state.Present, Healthy: true}
		case '-':
			m.Database = state.Database{Presence: state.Present}
		case 'f':
			m.Database = state.Database{Presence: state.Present, Unstarted: true, Name: fmt.Sprintf("basic-pd-%d", i)}
		case 'a':
			m.Database = state.Database{Presence: state.Present, Unstarted: true}
		case '.':
			m.Database = state.Database{Presence: state.Absent}
		}
		g.Members = append(g.Members, m)
	}
	s.Groups[topology.PD] = g
	return s
}

func TestBootstrapData(t *testing.T) {
	known := func(tc *v1alpha1.TidbCluster) { tc.Status.ClusterID = "7" }
	one := func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.Replicas = 1 }
	type data = map[string]string
	late := func(names, join string) data {
		return data{keyClusterID: "7", keyJoin: join, keyInitial: initial3, keyAwaited: names}
	}
	for name, tt := range map[string]struct {
		edit  func(*v1alpha1.TidbCluster)
		noSet bool // there is no StatefulSet yet
		old   data // nil: there is no ConfigMap
		snap  state.Snapshot
		want  data
	}{
		"first time":                     {noSet: true, snap: silent(), want: data{keyInitial: initial3}},
		"one member":                     {edit: one, noSet: true, snap: silent(), want: data{keyInitial: initial1}},
		"changed before it began":        {edit: one, noSet: true, old: data{keyInitial: initial3}, snap: silent(), want: data{keyInitial: initial1}},
		"starting":                       {old: data{keyInitial: initial3}, snap: silent(true, true), want: data{keyInitial: initial3}},
		"pd-B20: changed while starting": {edit: one, old: data{keyInitial: initial3}, snap: silent(true, true, true), want: data{keyInitial: initial3}},
		"answers, no cluster yet":        {old: data{keyInitial: initial3}, snap: state.Snapshot{}, want: data{keyInitial: initial3}},

		"suspended, and more are wanted":  {noSet: true, old: data{keyInitial: initial1}, snap: silent(true, true, true), want: data{keyInitial: initial1}},
		"suspended, and fewer are wanted": {edit: one, noSet: true, old: data{keyInitial: initial3}, snap: silent(true, true, true), want: data{keyInitial: initial3}},

		"suspended before most had a pod":                       {noSet: true, old: data{keyInitial: initial3}, snap: silent(true, false, false), want: data{keyInitial: initial3}},
		"suspended before most had a pod, and fewer are wanted": {edit: one, noSet: true, old: data{keyInitial: initial3}, snap: silent(true, false, false), want: data{keyInitial: initial3}},
		"suspended before any had a pod, and fewer are wanted":  {edit: one, noSet: true, old: data{keyInitial: initial3}, snap: silent(), want: data{keyInitial: initial1}},

		"all data of an earlier cluster":  {noSet: true, snap: silent(true, true, true), want: data{keyInitial: initial3}},
		"some data of an earlier cluster": {noSet: true, snap: silent(true, false, false), want: nil},
		"data of removed members only":    {noSet: true, snap: silent(false, false, false, true), want: data{keyInitial: initial3}},

		"started":             {old: data{keyInitial: initial3}, snap: answering("+++"), want: data{keyClusterID: "7", keyJoin: url0 + "," + url1 + "," + url2}},
		"started in part":     {old: data{keyInitial: initial3}, snap: answering("+-."), want: data{keyClusterID: "7", keyJoin: url0}},
		"none healthy":        {old: data{keyClusterID: "7", keyJoin: url1}, snap: answering("-?"), want: data{keyClusterID: "7", keyJoin: url1}},
		"a member restarts":   {old: data{keyClusterID: "7", keyJoin: url0 + "," + url1}, snap: answering("+-"), want: data{keyClusterID: "7", keyJoin: url0 + "," + url1}},
		"a member is removed": {old: data{keyClusterID: "7", keyJoin: url0 + "," + url1}, snap: answering("+."), want: data{keyClusterID: "7", keyJoin: url0}},
		"recreated by hand":   {old: data{keyClusterID: "6", keyJoin: url0}, snap: answering("+"), want: data{keyClusterID: "7", keyJoin: url0}},
		"silent":              {old: data{keyClusterID: "7", keyJoin: url1}, snap: silent(true, true, true), want: data{keyClusterID: "7", keyJoin: url1}},

		// Initial members that the others did not wait for.
		"a first member is late":             {old: data{keyInitial: initial3}, snap: answering("f++"), want: late("basic-pd-0", url1+","+url2)},
		"two of them are, of five or so":     {old: data{keyInitial: initial3}, snap: answering("f+f"), want: late("basic-pd-0,basic-pd-2", url1)},
		"one of two has come":                {old: late("basic-pd-0,basic-pd-2", url1), snap: answering("f++"), want: late("basic-pd-0", url1+","+url2)},
		"all have come":                      {old: late("basic-pd-0", url1), snap: answering("++"), want: data{keyClusterID: "7", keyJoin: url0 + "," + url1}},
		"it was given up":                    {old: late("basic-pd-0", url1), snap: answering(".+"), want: data{keyClusterID: "7", keyJoin: url1}},
		"it joins again":                     {old: late("basic-pd-0", url1), snap: answering("a+"), want: data{keyClusterID: "7", keyJoin: url1}},
		"silent while it is late":            {old: late("basic-pd-0", url1), snap: silent(true, true, true), want: late("basic-pd-0", url1)},
		"a later member has not started":     {old: data{keyInitial: initial1}, snap: answering("+f"), want: data{keyClusterID: "7", keyJoin: url0}},
		"no name is added to the list again": {old: late("basic-pd-0", url1), snap: answering("f+f"), want: late("basic-pd-0", url1)},
		"nor to one that is gone":            {old: data{keyClusterID: "7", keyJoin: url1}, snap: answering("f+"), want: data{keyClusterID: "7", keyJoin: url1}},
		"a list of another cluster":          {old: data{keyClusterID: "6", keyJoin: url1, keyInitial: initial3}, snap: answering("f+"), want: data{keyClusterID: "7", keyJoin: url1}},
		"known now, PD is heard":             {old: data{keyClusterID: "7", keyInitial: initial3}, snap: answering("f+"), want: late("basic-pd-0", url1)},

		// Never bootstrap twice.
		"pd-B19: all claims lost":      {edit: known, noSet: true, snap: silent(), want: data{keyClusterID: "7"}},
		"all claims lost but the map":  {noSet: true, old: data{keyClusterID: "7", keyJoin: url1}, snap: silent(), want: data{keyClusterID: "7", keyJoin: url1}},
		"known since, map is old":      {edit: known, old: data{keyInitial: initial3}, snap: silent(true), want: data{keyClusterID: "7", keyInitial: initial3}},
		"map lost while PD is silent":  {snap: silent(true, true, true), want: nil},
		"map lost and PD was starting": {snap: silent(), want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			edit := tt.edit
			if edit == nil {
				edit = func(*v1alpha1.TidbCluster) {}
			}
			c := load(t, "basic", edit)
			have := created(t, want(t, c, nothing(), state.Snapshot{}))
			delete(have.ConfigMaps, c.BootstrapMap())
			if tt.noSet {
				delete(have.Sets, topology.PD)
			}
			if tt.old != nil {
				m := &corev1.ConfigMap{Data: tt.old}
				m.ObjectMeta = meta(c, c.BootstrapMap(), union(c.Selector(), map[string]string{topology.LabelComponent: componentDiscovery}))
				have.ConfigMaps[m.Name] = m
			}
			w := want(t, c, have, tt.snap)
			if len(w.Objects) != 1 {
				t.Fatalf("objects: %v", w.Objects)
			}
			got := w.Objects[0].Manifest.(*corev1.ConfigMap).Data
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			drift := desired.None
			if tt.old == nil {
				drift = desired.Missing
			} else if !cmp.Equal(tt.old, got) {
				drift = desired.Differs
			}
			if w.Objects[0].Drift != drift {
				t.Errorf("drift %d, want %d", w.Objects[0].Drift, drift)
			}
			founders := 0
			if got[keyClusterID] == "" && got[keyInitial] != "" {
				founders = 1 + strings.Count(got[keyInitial], ",")
			}
			if g, _ := w.Group(topology.PD); g.Founders != founders {
				t.Errorf("%d founders, want %d", g.Founders, founders)
			}
			if got[keyAwaited] != "" && (got[keyInitial] == "" || got[keyClusterID] == "") {
				t.Error("the ConfigMap names members that are late, but not their cluster")
			}
		})
	}
}

func mountsBootstrap(t *testing.T, w desired.State) bool {
	t.Helper()
	for _, m := range setOf(t, w, topology.PD).Spec.Template.Spec.Containers[0].VolumeMounts {
		if m.MountPath == bootstrapDir {
			return true
		}
	}
	return false
}

// Whether PD's pods read the bootstrap ConfigMap is decided when they are made.
func TestWhoBootstraps(t *testing.T) {
	c := load(t, "basic")
	fresh := want(t, c, nothing(), state.Snapshot{})
	if !mountsBootstrap(t, fresh) {
		t.Error("new pods do not read the ConfigMap")
	}
	interrupted := nothing()
	interrupted.HasDiscoveryDeployment = true
	if w := want(t, c, interrupted, state.Snapshot{}); !mountsBootstrap(t, w) || len(w.Objects) != 1 {
		t.Error("with a discovery server new pods do not read the ConfigMap, and our script asks no server")
	}
	if w := want(t, c, operated(t, "basic"), answering("+++")); mountsBootstrap(t, w) || len(w.Objects) != 0 {
		t.Error("an operator's pods get the ConfigMap")
	}
	without := load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.PD = nil })
	if w := want(t, without, nothing(), state.Snapshot{}); len(w.Objects) != 0 {
		t.Error("there is a bootstrap ConfigMap without PD")
	}

	// An operator deleted the StatefulSet, to recreate it under its pods.
	orphaned := operated(t, "basic")
	delete(orphaned.Sets, topology.PD)
	noted := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		tc.Annotations = map[string]string{annNameBefore + "pd": "basic-pd"}
	})
	w := want(t, noted, orphaned, state.Snapshot{})
	if mountsBootstrap(t, w) || len(w.Objects) != 0 {
		t.Error("the operator's pods would restart to read it")
	}
	if applied := operated(t, "basic").Sets[topology.PD]; Template(applied) != groupOf(t, w, topology.PD).Template {
		t.Error("the operator's pods would restart")
	}
}

// Pods that read the bootstrap ConfigMap can get another script at any time.
func TestOwnScriptOfPDIsReplaced(t *testing.T) {
	have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.PD.DataSubDir = "sub" })
	got := configOf(t, want(t, c, have, state.Snapshot{}), topology.PD).Data[keyScript]
	if !hasWord(got, "--data-dir=/var/lib/pd/sub") {
		t.Errorf("the script has another directory:\n%s", got)
	}
}
