package certificate_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

const year = 365 * 24 * time.Hour

func cluster(edits ...func(*v1alpha1.TidbCluster)) topology.Cluster {
	tc := &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0", TLSCluster: &v1alpha1.TLSCluster{Enabled: true},
			PD:   &v1alpha1.PDSpec{Replicas: 3},
			TiKV: &v1alpha1.TiKVSpec{Replicas: 3},
			TiDB: &v1alpha1.TiDBSpec{Replicas: 2, TLSClient: &v1alpha1.TiDBTLSClient{Enabled: true}},
		},
	}
	for _, e := range edits {
		e(tc)
	}
	return topology.New(tc)
}

// secrets are the certificates of a cluster before they are parsed, by the name of the Secret.
type secrets map[string]map[string][]byte

func authority(t *testing.T, name string, at time.Time) issue.Authority {
	t.Helper()
	a, err := issue.NewAuthority(name, at)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issued(t *testing.T, a issue.Authority, w topology.Certificate, at time.Time) map[string][]byte {
	t.Helper()
	data, err := a.Issue(w, issue.CommonName, at, year)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func all(t *testing.T, c topology.Cluster, a issue.Authority) secrets {
	t.Helper()
	s := secrets{}
	for _, w := range topology.Certificates(c) {
		s[w.Secret] = issued(t, a, w, noon)
	}
	return s
}

func (s secrets) read(c topology.Cluster) map[string]certificate.Secret {
	read := map[string]certificate.Secret{}
	for _, w := range topology.Certificates(c) {
		read[w.Secret] = certificate.Secret{Name: w.Secret, Missing: true}
		if data, ok := s[w.Secret]; ok {
			read[w.Secret] = certificate.Parse(w.Secret, data, w.WithoutCA)
		}
	}
	return read
}

func wanted(t *testing.T, c topology.Cluster, secret string) topology.Certificate {
	t.Helper()
	list := topology.Certificates(c)
	i := slices.IndexFunc(list, func(w topology.Certificate) bool { return w.Secret == secret })
	if i < 0 {
		t.Fatalf("the cluster needs no Secret %s", secret)
	}
	return list[i]
}

// TestFaults: each kind of certificate that a process could not use is named, with its Secret, the
// key, the subject or the date, and no other one is.
func TestFaults(t *testing.T) {
	c := cluster()
	own, foreign, old := authority(t, "own", noon), authority(t, "foreign", noon), authority(t, "old", noon.Add(-11*year))
	valid := all(t, c, own)
	const pd, kv, client = "basic-pd-cluster-secret", "basic-tikv-cluster-secret", "basic-cluster-client-secret"
	without := func(secret, key string) func(secrets) { return func(s secrets) { delete(s[secret], key) } }
	for name, tt := range map[string]struct {
		change func(secrets)
		at     time.Time
		secret string
		says   string
	}{
		"none":                 {func(secrets) {}, noon, "", ""},
		"no Secret":            {func(s secrets) { delete(s, kv) }, noon, kv, "does not exist"},
		"no certificate":       {without(kv, "tls.crt"), noon, kv, "tls.crt of Secret " + kv + " is missing"},
		"no private key":       {without(kv, "tls.key"), noon, kv, "tls.key of Secret " + kv + " is missing"},
		"no authority":         {without(kv, "ca.crt"), noon, kv, "ca.crt of Secret " + kv + " is missing"},
		"no PEM":               {func(s secrets) { s[kv]["tls.crt"] = []byte("x") }, noon, kv, "tls.crt of Secret " + kv + " has no certificate in PEM"},
		"key of another":       {func(s secrets) { s[kv]["tls.key"] = s[pd]["tls.key"] }, noon, kv, "is not the private key"},
		"authority is no PEM":  {func(s secrets) { s[kv]["ca.crt"] = []byte("x") }, noon, kv, "ca.crt of Secret " + kv + " has no certificate in PEM"},
		"expired":              {func(s secrets) { s[kv] = issued(t, own, wanted(t, c, kv), noon.Add(-2*year)) }, noon, kv, "expired on 2025-07-01"},
		"not yet valid":        {func(s secrets) { s[kv] = issued(t, own, wanted(t, c, kv), noon.Add(time.Hour)) }, noon, kv, "is not valid before 2026-07-01 12:55"},
		"not for its members":  {func(s secrets) { s[kv] = issued(t, own, wanted(t, c, pd), noon) }, noon, kv, "is not for basic-tikv-0.basic-tikv-peer.db.svc, basic-tikv-1.basic-tikv-peer.db.svc, basic-tikv-2.basic-tikv-peer.db.svc, by which"},
		"not for the Service":  {func(s secrets) { s[pd] = issued(t, own, named(wanted(t, c, pd), "*.basic-pd-peer.db.svc"), noon) }, noon, pd, "is not for basic-pd, by which"},
		"not for servers":      {func(s secrets) { s[kv] = issued(t, own, clientOnly(wanted(t, c, kv)), noon) }, noon, kv, "is not for use by servers"},
		"not for clients":      {func(s secrets) { s[client] = issued(t, own, serverOnly(wanted(t, c, client)), noon) }, noon, client, "is not for use by clients"},
		"of another authority": {func(s secrets) { s[kv] = issued(t, foreign, wanted(t, c, kv), noon) }, noon, kv, `issued by "CN=foreign", is not signed by an authority in ca.crt of Secret basic-cluster-client-secret`},
		"client of another":    {func(s secrets) { s[client] = issued(t, foreign, wanted(t, c, client), noon) }, noon, client, "is not signed by an authority in ca.crt of Secret basic-pd-cluster-secret"},
		"not of its authority": {func(s secrets) { s[kv]["ca.crt"] = foreign.PEM() }, noon, kv, "is not signed by an authority in ca.crt of Secret " + kv},
		"SQL client of another": {func(s secrets) {
			s["basic-tidb-client-secret"] = issued(t, foreign, wanted(t, c, "basic-tidb-client-secret"), noon)
		}, noon, "basic-tidb-client-secret", "is not signed"},
		"end of the authority": {func(secrets) {}, noon.Add(11 * year), client, "expired on 2027-07-01"},
		"expired authority":    {func(s secrets) { s[kv]["ca.crt"] = old.PEM() }, noon, kv, `the authority "CN=old" in ca.crt of Secret ` + kv + " expired on 2025-"},
	} {
		t.Run(name, func(t *testing.T) {
			s := secrets{}
			for name, data := range valid {
				s[name] = maps.Clone(data)
			}
			tt.change(s)
			faults := certificate.Faults(c, s.read(c), tt.at)
			if tt.secret == "" {
				if len(faults) > 0 {
					t.Errorf("faults %v", faults)
				}
				return
			}
			i := slices.IndexFunc(faults, func(f certificate.Fault) bool { return f.Secret == tt.secret })
			if i < 0 || !strings.Contains(faults[i].Text, tt.says) {
				t.Errorf("no fault of %s with %q among %v", tt.secret, tt.says, texts(faults))
			}
		})
	}
}

// TestSpareMembers: certificates that kubectl tidb tls init makes are for a spare member too. A certificate that lists
// its members is reported where it does not list the spare one.
func TestSpareMembers(t *testing.T) {
	c := cluster(func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TiFlash, tc.Spec.Pump = &v1alpha1.TiFlashSpec{Replicas: 2}, &v1alpha1.PumpSpec{Replicas: 2}
	})
	own := authority(t, "own", noon)
	made := all(t, c, own)
	groups := map[topology.Kind]state.Group{}
	for i, g := range c.Groups {
		name := c.PodName(g.Kind, 0)
		groups[g.Kind] = state.Group{Members: []state.Member{{Kind: g.Kind, Name: name, Claims: []state.Claim{{UID: "a"}}}}}
		c.Groups[i].Replacements = map[string]topology.MemberReplacement{name: {Claims: []string{"a"}, Spare: true}}
	}
	spared := desired.WithSpares(c, groups)
	for i, g := range spared.Groups {
		if was := c.Groups[i].Replicas; g.Replicas != was+1 {
			t.Errorf("%s: %d replicas, and %d before", g.Kind, g.Replicas, was)
		}
	}
	if faults := certificate.Faults(spared, made.read(c), noon); len(faults) > 0 {
		t.Errorf("faults %v", texts(faults))
	}
	const kv = "basic-tikv-cluster-secret"
	listed := wanted(t, c, kv)
	made[kv] = issued(t, own, named(listed, listed.Called...), noon)
	if faults := certificate.Faults(c, made.read(c), noon); len(faults) > 0 {
		t.Errorf("faults without a spare member: %v", texts(faults))
	}
	faults := certificate.Faults(spared, made.read(c), noon)
	if len(faults) != 1 || !strings.Contains(faults[0].Text, "is not for basic-tikv-3.basic-tikv-peer.db.svc, by which") {
		t.Errorf("faults with a spare member: %v", texts(faults))
	}
}

func named(w topology.Certificate, names ...string) topology.Certificate { w.Names = names; return w }
func clientOnly(w topology.Certificate) topology.Certificate             { w.Server = false; return w }
func serverOnly(w topology.Certificate) topology.Certificate {
	w.Server, w.Client = true, false
	return w
}

func texts(faults []certificate.Fault) []string {
	var all []string
	for _, f := range faults {
		all = append(all, fmt.Sprintf("%s: %s", f.Secret, f.Text))
	}
	return all
}

// TestOverlap: while the authority is replaced, each owner trusts both, and certificates of either
// are accepted.
func TestOverlap(t *testing.T) {
	c := cluster()
	before, after := authority(t, "before", noon), authority(t, "after", noon)
	s := all(t, c, before)
	s["basic-tikv-cluster-secret"] = issued(t, after, wanted(t, c, "basic-tikv-cluster-secret"), noon)
	if faults := certificate.Faults(c, s.read(c), noon); len(faults) == 0 {
		t.Fatal("trusted without the authority")
	}
	for _, data := range s {
		data["ca.crt"] = bytes.Join([][]byte{before.PEM(), after.PEM()}, nil)
	}
	if faults := certificate.Faults(c, s.read(c), noon); len(faults) > 0 {
		t.Errorf("faults %v", texts(faults))
	}
}

// TestAuthorityEndsFirst: a certificate may be valid for longer than its authority, as those of an Issuer
// of cert-manager are, and the authority may have been renewed with its key later. It counts for as long as
// one authority that has signed it is valid.
func TestAuthorityEndsFirst(t *testing.T) {
	c := cluster()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long := signed(t, key, noon.Add(-time.Hour), noon.Add(2*year))
	for name, tt := range map[string]struct {
		begins, ends, at time.Duration
		beside           []byte // another authority
		says             string
	}{
		"ends in the first half":    {-time.Hour, 90 * 24 * time.Hour, 0, nil, ""},
		"begins in the second half": {200 * 24 * time.Hour, 2 * year, 201 * 24 * time.Hour, nil, ""},
		"has ended beside another one": {-time.Hour, 90 * 24 * time.Hour, 91 * 24 * time.Hour, signed(t, other, noon.Add(-time.Hour), noon.Add(2*year)).PEM(),
			`is signed by "CN=authority", which is valid from 2026-07-01 11:00 UTC to 2026-09-29 12:00 UTC only`},
		"is to begin, beside another one": {30 * 24 * time.Hour, 2 * year, 0, signed(t, other, noon.Add(-time.Hour), noon.Add(2*year)).PEM(),
			`which is valid from`},
		"has ended":                   {-time.Hour, 90 * 24 * time.Hour, 91 * 24 * time.Hour, nil, `the authority "CN=authority" in ca.crt of Secret basic-pd-cluster-secret expired on 2026-09-29`},
		"begins when they have ended": {2 * year, 3 * year, 0, nil, "is not signed by an authority"},
	} {
		t.Run(name, func(t *testing.T) {
			s := all(t, c, long)
			for _, data := range s {
				data["ca.crt"] = append(signed(t, key, noon.Add(tt.begins), noon.Add(tt.ends)).PEM(), tt.beside...)
			}
			got := strings.Join(texts(certificate.Faults(c, s.read(c), noon.Add(tt.at))), "\n")
			if tt.says == "" && got != "" || !strings.Contains(got, tt.says) {
				t.Errorf("faults:\n%s\nwant %q", got, tt.says)
			}
		})
	}
}

// signed is an authority with a key and a time of life.
func signed(t *testing.T, key *ecdsa.PrivateKey, begins, ends time.Time) issue.Authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: begins, NotAfter: ends,
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a, err := issue.ParseAuthority(map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestUnread: a Secret that may not be read is no fault, unless this program needs it to ask PD.
func TestUnread(t *testing.T) {
	c := cluster()
	read := all(t, c, authority(t, "own", noon)).read(c)
	for name, n := range map[string]int{"basic-tikv-cluster-secret": 0, "basic-cluster-client-secret": 1} {
		was := read[name]
		read[name] = certificate.Secret{Name: name, Unread: "not permitted"}
		if faults := certificate.Faults(c, read, noon); len(faults) != n {
			t.Errorf("%s: %v", name, texts(faults))
		}
		read[name] = was
	}
}

// TestAcceptedNames: a component that lists common names of clients refuses all others.
func TestAcceptedNames(t *testing.T) {
	own := authority(t, "own", noon)
	for name, accepted := range map[string]bool{issue.CommonName: true, "other": false} {
		c := cluster(func(tc *v1alpha1.TidbCluster) {
			tc.Spec.TiKV.Config = v1alpha1.NewTiKVConfig()
			tc.Spec.TiKV.Config.Set("security.cert-allowed-cn", []string{name})
		})
		faults := certificate.Faults(c, all(t, c, own).read(c), noon)
		if accepted != (len(faults) == 0) || !accepted && !strings.Contains(faults[0].Text, "a common name that TiKV does not accept: its configuration lists other") {
			t.Errorf("%s: %v", name, texts(faults))
		}
	}
}

// TestWithoutCA: TiDB that asks SQL clients for no certificate needs no authority.
func TestWithoutCA(t *testing.T) {
	c := cluster(func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TiDB.TLSClient.DisableClientAuthn, tc.Spec.TiDB.TLSClient.SkipInternalClientCA = true, true
	})
	s := all(t, c, authority(t, "own", noon))
	delete(s["basic-tidb-server-secret"], "ca.crt")
	delete(s["basic-tidb-client-secret"], "ca.crt")
	if faults := certificate.Faults(c, s.read(c), noon); len(faults) > 0 {
		t.Errorf("faults %v", texts(faults))
	}
}

// TestEndsSoon: a certificate is reported for two weeks before it ends, and is then a fault.
func TestEndsSoon(t *testing.T) {
	c := cluster()
	s := all(t, c, authority(t, "own", noon)).read(c)["basic-pd-cluster-secret"]
	for days, soon := range map[int]bool{350: false, 352: true, 364: true, 366: false} {
		if got := s.EndsSoon(noon.Add(time.Duration(days) * 24 * time.Hour)); got != soon {
			t.Errorf("after %d days: %v", days, got)
		}
	}
}
