package topology

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

const microservices = `{version: v8.5.0, pd: {mode: ms}, pdms: [{name: scheduling, replicas: 2}, {name: tso, replicas: 3, baseImage: my/pd, version: v8.4.0}]}`

func TestServicesOfPD(t *testing.T) {
	tc := written(t, microservices)
	c := New(tc)
	if errs := Validate(c); len(errs) > 0 {
		t.Fatalf("refused: %v", errs)
	}
	if tc.Spec.PDMS[0].BaseImage != nil || tc.Spec.PDMS[0].Config != nil {
		t.Error("the user's spec has defaults")
	}
	tso, _ := c.Group(TSO)
	other, _ := c.Group(Scheduling)
	pd, _ := c.Group(PD)
	if tso.Replicas != 3 || tso.Image != "my/pd:v8.4.0" || other.Replicas != 2 || other.Image != pd.Image {
		t.Errorf("got %d of %s and %d of %s", tso.Replicas, tso.Image, other.Replicas, other.Image)
	}
	if c.Groups[0].Kind != PD || c.Groups[1].Kind != TSO || c.Groups[2].Kind != Scheduling {
		t.Errorf("the order is %v", c.Groups)
	}
	if got := FieldOf(tc, TSO).Child("replicas").String(); got != "spec.pdms[1].replicas" {
		t.Errorf("the field is %s", got)
	}
	if !Microservices(tc) || Microservices(valid()) {
		t.Error("the mode is read wrong")
	}
}

// TestServicesAlone: the pods of PD do not depend on the services.
func TestServicesAlone(t *testing.T) {
	was, is := New(written(t, microservices)), written(t, microservices)
	is.Spec.PDMS[1].Replicas, is.Spec.PDMS[0].Env = 5, []corev1.EnvVar{{Name: "A", Value: "b"}}
	for _, tt := range []struct {
		kind Kind
		same bool
	}{{PD, true}, {TSO, true}, {Scheduling, false}, {TiKV, true}} {
		before, _ := was.Group(tt.kind)
		after, _ := New(is).Group(tt.kind)
		if (before.Asked == after.Asked) != tt.same || before.Asked == "" {
			t.Errorf("%s: the digest is %q, and was %q", tt.kind, after.Asked, before.Asked)
		}
	}
}

func TestCertificateOfServices(t *testing.T) {
	tc := written(t, microservices)
	tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true}
	c := New(tc)
	all := Certificates(c)
	i := slices.IndexFunc(all, func(w Certificate) bool { return w.Secret == "basic-pd-cluster-secret" })
	if i < 0 {
		t.Fatal("PD has no certificate")
	}
	if got := all[i].MountedBy; !slices.Equal(got, []Kind{PD, TSO, Scheduling}) {
		t.Errorf("it is mounted by %v", got)
	}
	for _, name := range []string{"basic-pd", "*.basic-tso-peer.db.svc", "basic-scheduling.db.svc"} {
		if !slices.Contains(all[i].Names, name) {
			t.Errorf("it has no name %s among %v", name, all[i].Names)
		}
	}
	if host := c.PodHost(TSO, 2); !slices.Contains(all[i].Called, host) {
		t.Errorf("nobody calls %s", host)
	}
	if TSO.CertificateVolume() != "pd-tls" || TiKV.CertificateVolume() != "tikv-tls" {
		t.Error("the volumes have other names")
	}
	if slices.ContainsFunc(all, func(w Certificate) bool { return w.Secret == "basic-tso-cluster-secret" }) {
		t.Error("there is a certificate that nobody mounts")
	}
	tc.Spec.PD.Mode, tc.Spec.PDMS = "", nil
	for _, w := range AllCertificates(New(tc)) {
		if slices.Contains(w.Names, "basic-tso") {
			t.Errorf("%s has a name of a service that is not asked for", w.Secret)
		}
	}
}

// TestPublishedServices: the manifest that tidb-operator publishes for services of PD, as far as PD is concerned. Its
// version is a build that comes before a release.
func TestPublishedServices(t *testing.T) {
	tc := written(t, `{version: v8.5.4,
		pd: {mode: ms, replicas: 1, baseImage: hub.example/pd, version: v8.3.0-5427, maxFailoverCount: 0},
		pdms: [{name: tso, replicas: 2, baseImage: hub.example/pd, version: v8.3.0-5427},
			{name: scheduling, replicas: 2, baseImage: hub.example/pd, version: v8.3.0-5427}]}`)
	if errs := append(Validate(New(tc)), ValidateUpdate(nil, New(tc))...); len(errs) > 0 {
		t.Errorf("refused: %v", errs)
	}
}

func TestConfigPatch(t *testing.T) {
	tc := written(t, microservices)
	for k, want := range map[Kind]string{
		TiKV: `{"tikv":{"config":"a"}}`,
		TSO:  `"baseImage":"my/pd","config":"a","name":"tso"`,
	} {
		got := string(encoded(ConfigPatch(tc, k, "a")))
		if !strings.Contains(got, want) || strings.Count(got, `"a"`) != 1 {
			t.Errorf("%s: %s", k, got)
		}
	}
	if got := ListsIn([]byte(`{"pdms":[]}`)); !slices.Equal(got, []string{"spec.pdms"}) || ListsIn([]byte(`{"tikv":{}}`)) != nil {
		t.Errorf("got %v", got)
	}
}
