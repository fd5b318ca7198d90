package render

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func ptr[T any](v T) *T { return &v }

// TestEmptyClassOfVolume: an empty class is the component's.
func TestEmptyClassOfVolume(t *testing.T) {
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TiKV.StorageClassName, tc.Spec.TiKV.VolumeAttributesClassName = ptr("fast"), ptr("gold")
		tc.Spec.TiKV.StorageVolumes = []v1alpha1.StorageVolume{
			{Name: "wal", StorageSize: "1Gi", StorageClassName: ptr(""), VolumeAttributesClassName: ptr("")},
			{Name: "raft", StorageSize: "1Gi", StorageClassName: ptr("slow"), VolumeAttributesClassName: ptr("iron")},
		}
	})
	var got []string
	for _, claim := range setOf(t, want(t, c, nothing(), state.Snapshot{}), topology.TiKV).Spec.VolumeClaimTemplates {
		got = append(got, claim.Name+" "+*claim.Spec.StorageClassName+" "+*claim.Spec.VolumeAttributesClassName)
	}
	if diff := cmp.Diff([]string{"tikv fast gold", "tikv-wal fast gold", "tikv-raft slow iron"}, got); diff != "" {
		t.Error(diff)
	}
}

// withArguments returns the part of an operator's start script of the first generation that has
// arguments: the user's come last on the line that executes TiDB.
func withArguments(arguments string) string {
	return "ARGS=\"--store=tikv\"\necho \"/tidb-server ${ARGS}" + arguments + "\"\nexec /tidb-server ${ARGS}" + arguments + "\n"
}

// TestArgumentsTakenAway: an operator's script that has more arguments than are
// asked for does not fit.
func TestArgumentsTakenAway(t *testing.T) {
	v2 := func(tc *v1alpha1.TidbCluster) { tc.Spec.StartScriptVersion = v1alpha1.StartScriptV2 }
	for name, tt := range map[string]struct {
		edit   func(*v1alpha1.TidbCluster)
		asked  []string
		script string
		fits   bool
	}{
		"the same":                      {nil, []string{"--a", "--b"}, withArguments(" --a --b"), true},
		"several in one":                {nil, []string{"--a --b"}, withArguments(" --a --b"), true},
		"the last one is gone":          {nil, []string{"--a"}, withArguments(" --a --b"), false},
		"the first one is gone":         {nil, []string{"--b"}, withArguments(" --a --b"), false},
		"all are gone":                  {nil, nil, withArguments(" --a --b"), false},
		"one is new":                    {nil, []string{"--a", "--b"}, withArguments(" --a"), false},
		"none":                          {nil, nil, withArguments(""), true},
		"none, the second generation":   {v2, nil, withArguments(""), true},
		"which leaves arguments out":    {v2, []string{"--a"}, withArguments(""), true},
		"a script of another form":      {nil, nil, "exec /tidb-server --store=tikv\n", true},
		"a script that runs some other": {nil, nil, "exec /usr/bin/wrap /tidb-server ${ARGS} --a\n", true},
	} {
		c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiDB.Arguments = tt.asked
			if tt.edit != nil {
				tt.edit(tc)
			}
		})
		g, _ := c.Group(topology.TiDB)
		comp, err := descriptionOf(g.Kind).objects(c, g, nothing())
		if err != nil {
			t.Fatal(err)
		}
		if got := comp.script.startsAsWanted(tt.script); got != tt.fits {
			t.Errorf("%s: fits %t", name, got)
		}
	}
}

// TestTwoPatchesOfOneContainer: the last one is used, and only that one.
func TestTwoPatchesOfOneContainer(t *testing.T) {
	c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TiKV.AdditionalContainers = []corev1.Container{
			{Name: "tikv", Image: "first", WorkingDir: "/first"},
			{Name: "tikv", ImagePullPolicy: corev1.PullAlways},
		}
	})
	got := setOf(t, want(t, c, nothing(), state.Snapshot{}), topology.TiKV).Spec.Template.Spec.Containers
	if len(got) != 1 || got[0].WorkingDir != "" || got[0].ImagePullPolicy != corev1.PullAlways || strings.HasPrefix(got[0].Image, "first") {
		t.Errorf("%d containers, the first with %+v", len(got), got[0])
	}
}

// TestPatchOfTailerTakenBack: a tailer has its own command again, also where the
// patched one names the same file.
func TestPatchOfTailerTakenBack(t *testing.T) {
	patched := func(command ...string) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiDB.AdditionalContainers = []corev1.Container{{Name: "slowlog", Command: command}}
		}
	}
	const file = "/var/log/tidb/slowlog"
	command := func(w desired.State) []string {
		return setOf(t, w, topology.TiDB).Spec.Template.Spec.Containers[0].Command
	}
	own := command(want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	for name, tt := range map[string]struct{ in, out []string }{
		"a patch":            {[]string{"tail", "-F", file}, own},
		"a patch in a shell": {[]string{"sh", "-c", "tail -n0 -F " + file}, own},
		"an operator's":      {[]string{"sh", "-c", "touch " + file + "; tail -n0 -F " + file + ";"}, []string{"sh", "-c", "touch " + file + "; tail -n0 -F " + file + ";"}},
		"of another file":    {[]string{"sh", "-c", "touch /x; tail -n0 -F /x;"}, own},
		"ours":               {own, own},
	} {
		have := created(t, want(t, load(t, "basic", patched(tt.in...)), nothing(), state.Snapshot{}))
		if got := command(want(t, load(t, "basic"), have, state.Snapshot{})); !slices.Equal(got, tt.out) {
			t.Errorf("%s: %q, want %q", name, got, tt.out)
		}
	}
}

// TestServicesTwice: of two old entries for PD's Service the first counts.
func TestServicesTwice(t *testing.T) {
	for name, tt := range map[string]struct {
		types []string
		want  corev1.ServiceType
	}{
		"one":                       {[]string{"NodePort"}, corev1.ServiceTypeNodePort},
		"two":                       {[]string{"NodePort", "LoadBalancer"}, corev1.ServiceTypeNodePort},
		"the first is the default":  {[]string{"ClusterIP", "LoadBalancer"}, corev1.ServiceTypeClusterIP},
		"the first is no such type": {[]string{"x", "NodePort"}, corev1.ServiceTypeClusterIP},
	} {
		c := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
			for _, typ := range tt.types {
				tc.Spec.Services = append(tc.Spec.Services, v1alpha1.Service{Name: "other", Type: "NodePort"}, v1alpha1.Service{Name: "pd", Type: typ})
			}
		})
		w := want(t, c, nothing(), state.Snapshot{})
		if got := groupOf(t, w, topology.PD).Services[0].Manifest.(*corev1.Service).Spec.Type; got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestNumbersAsText: TiKV's two durations are numbers where a whole number is all
// that the user gives.
func TestNumbersAsText(t *testing.T) {
	for text, want := range map[string]string{
		"1000": "1000", "+1000": "1000", "-1": "-1", "1s": `"1s"`, "1.5": `"1.5"`, "": `""`,
		"99999999999999999999": `"99999999999999999999"`,
	} {
		c := load(t, "basic", tikvConfig("[pessimistic-txn]\nwait-for-lock-timeout = \""+text+"\"\n"))
		g, _ := c.Group(topology.TiKV)
		comp, err := descriptionOf(g.Kind).objects(c, g, nothing())
		if err != nil {
			t.Fatal(err)
		}
		got, err := encode(comp.documents[0].config)
		if err != nil {
			t.Fatal(err)
		}
		if line := "wait-for-lock-timeout = " + want + "\n"; !strings.Contains(got, line) {
			t.Errorf("%q: %q, want %q", text, got, line)
		}
	}
}

// TestLogsOfOldReleases: where the logs of TiKV's storage engines are depends on
// the release, and a tag that is no semantic version counts as a newer one.
func TestLogsOfOldReleases(t *testing.T) {
	for tag, want := range map[string]bool{
		"v4.0.16": true, "4.0": true, "v4.0.16-20200101": true, "v4.0.16+x": true, "v3": true,
		"v4.0.16_custom": false, "v5.0.0-rc": false, "v5.0.0": false, "v8.1.0": false, "nightly": false, "v4.0.1.6": false,
	} {
		if got := topology.BeforeMajor(tag, 5); got != want {
			t.Errorf("%s: before v5.0 is %t", tag, got)
		}
	}
}

// TestUnstartable: what Kubernetes refuses only when it makes the pods is refused
// before anything is written.
func TestUnstartable(t *testing.T) {
	kv := func(edit func(*v1alpha1.TiKVSpec)) func(*v1alpha1.TidbCluster) {
		return func(tc *v1alpha1.TidbCluster) { edit(tc.Spec.TiKV) }
	}
	mounts := func(list ...corev1.VolumeMount) func(*v1alpha1.TidbCluster) {
		return kv(func(s *v1alpha1.TiKVSpec) { s.AdditionalVolumeMounts = list })
	}
	for name, tt := range map[string]struct {
		edit  func(*v1alpha1.TidbCluster)
		field string
	}{
		"a mount without a volume": {mounts(corev1.VolumeMount{Name: "certs", MountPath: "/certs"}), "spec.tikv.additionalVolumeMounts[certs].name"},
		"a mount of a claim":       {mounts(corev1.VolumeMount{Name: "tikv", MountPath: "/data"}), ""},
		"a path that is taken":     {mounts(corev1.VolumeMount{Name: "tikv", MountPath: "/etc/tikv"}), "spec.tikv.additionalVolumeMounts[tikv].mountPath"},
		"a volume that is there":   {kv(func(s *v1alpha1.TiKVSpec) { s.AdditionalVolumes = []corev1.Volume{emptyDir("config")} }), "spec.tikv.additionalVolumes[config].name"},
		"two containers of one name": {kv(func(s *v1alpha1.TiKVSpec) {
			s.AdditionalContainers = []corev1.Container{{Name: "x", Image: "i"}, {Name: "x", Image: "i"}}
		}), "spec.tikv.additionalContainers[x].name"},
		"one of the name of an init container": {kv(func(s *v1alpha1.TiKVSpec) {
			s.InitContainers, s.AdditionalContainers = []corev1.Container{{Name: "x", Image: "i"}}, []corev1.Container{{Name: "x", Image: "i"}}
		}), "spec.tikv.additionalContainers[x].name"},
		"a mount of another container": {kv(func(s *v1alpha1.TiKVSpec) {
			s.AdditionalContainers = []corev1.Container{{Name: "x", Image: "i", VolumeMounts: []corev1.VolumeMount{{Name: "certs", MountPath: "/certs"}}}}
		}), "spec.tikv.additionalContainers[x].volumeMounts[certs].name"},
		"a container without an image": {kv(func(s *v1alpha1.TiKVSpec) {
			s.AdditionalContainers = []corev1.Container{{Name: "x"}}
		}), "spec.tikv.additionalContainers[x].image"},
		"an init container without an image": {kv(func(s *v1alpha1.TiKVSpec) {
			s.InitContainers = []corev1.Container{{Name: "x"}}
		}), "spec.tikv.initContainers[x].image"},
		"a patch": {kv(func(s *v1alpha1.TiKVSpec) {
			s.AdditionalContainers = []corev1.Container{{Name: "tikv", ImagePullPolicy: corev1.PullAlways}}
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, "basic", tt.edit)
			_, err := Want(state.Observation{Cluster: c, Existing: nothing()})
			got := ""
			var refused *RefusedError
			if errors.As(err, &refused) {
				got = refused.Fields[0].Field
			}
			if got != tt.field {
				t.Fatalf("refused for %q, want %q: %v", got, tt.field, err)
			}
			if got == "" {
				return
			}
			// A webhook may add what is missing to running pods.
			have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
			live := have.Sets[topology.TiKV]
			comp, err := describeTiKV(c, groupNamed(t, c, topology.TiKV), have)
			if err != nil {
				t.Fatal(err)
			}
			set, err := statefulSet(comp, "basic-tikv")
			if err != nil {
				t.Fatal(err)
			}
			setLastApplied(&live.ObjectMeta, set.Spec)
			upgrade := load(t, "basic", tt.edit, func(tc *v1alpha1.TidbCluster) {
				tc.Spec.TiKV.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("9Gi")}
			})
			if _, err := Want(state.Observation{Cluster: upgrade, Existing: have}); err != nil {
				t.Errorf("a spec whose pods run is refused: %v", err)
			}
		})
	}
}

func groupNamed(t *testing.T, c topology.Cluster, k topology.Kind) topology.Group {
	t.Helper()
	g, ok := c.Group(k)
	if !ok {
		t.Fatalf("no %s", k)
	}
	return g
}
