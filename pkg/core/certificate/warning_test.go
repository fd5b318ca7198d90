package certificate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

const day = 24 * time.Hour

func withServices(tc *v1alpha1.TidbCluster) {
	tc.Spec.TiDB.Service, tc.Spec.TiProxy = &v1alpha1.TiDBServiceSpec{}, &v1alpha1.TiProxySpec{Replicas: 1}
}

// warnings returns those about one thing.
func warnings(c topology.Cluster, read map[string]certificate.Secret, about certificate.About, at time.Time) []certificate.Warning {
	return slices.DeleteFunc(certificate.Warnings(c, read, at), func(w certificate.Warning) bool { return w.About != about })
}

// TestNamesOfServices: SQL clients that verify the name of the server need one of each Service. Others do
// not: it is no fault.
func TestNamesOfServices(t *testing.T) {
	own := authority(t, "own", noon)
	const secret = "basic-tidb-server-secret"
	for name, tt := range map[string]struct {
		edit  func(*v1alpha1.TidbCluster)
		names []string
		want  []string // the Services
	}{
		"made by tls init":                {edit: withServices},
		"one name of each":                {withServices, []string{"basic-tidb", "basic-tiproxy.db"}, nil},
		"only TiDB's":                     {withServices, []string{"basic-tidb.db.svc"}, []string{"basic-tiproxy"}},
		"only TiProxy's":                  {withServices, []string{"basic-tiproxy.db.svc"}, []string{"basic-tidb"}},
		"all of a domain":                 {withServices, []string{"*.db.svc"}, nil},
		"another name":                    {withServices, []string{"db.example.com"}, []string{"basic-tidb", "basic-tiproxy"}},
		"pods of TiDB":                    {withServices, []string{"*.basic-tidb-peer.db.svc"}, []string{"basic-tidb", "basic-tiproxy"}},
		"of another namespace":            {withServices, []string{"basic-tidb.other.svc", "basic-tiproxy"}, []string{"basic-tidb"}},
		"with the domain of the cluster":  {func(tc *v1alpha1.TidbCluster) { withServices(tc); tc.Spec.ClusterDomain = "k8s.example" }, []string{"basic-tidb.db.svc.k8s.example", "basic-tiproxy"}, nil},
		"neither a Service nor a TiProxy": {func(*v1alpha1.TidbCluster) {}, []string{"db.example.com"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster(tt.edit)
			s := all(t, c, own)
			if tt.names != nil {
				w := wanted(t, c, secret)
				w.Names = tt.names
				s[secret] = issued(t, own, w, noon)
			}
			if faults := certificate.Faults(c, s.read(c), noon); len(faults) > 0 {
				t.Errorf("faults %v", texts(faults))
			}
			got := warnings(c, s.read(c), certificate.ServiceNames, noon)
			if len(got) != len(tt.want) {
				t.Fatalf("%+v", got)
			}
			for i, service := range tt.want {
				says := "in Secret " + secret + " has no name of Service " + service + ", such as " + service + ".db.svc: "
				if !strings.Contains(got[i].Text, says) || !strings.HasSuffix(got[i].Remedy.Line(""), ": kubectl tidb tls rotate basic -n db") {
					t.Errorf("%s; %s", got[i].Text, got[i].Remedy.Line(""))
				}
			}
		})
	}
}

// TestAuthorityEnds: an authority is reported for two weeks before it ends, once, with the command that
// replaces it.
func TestAuthorityEnds(t *testing.T) {
	c := cluster()
	own := authority(t, "own", noon)
	end := own.Certificate.NotAfter
	s := secrets{}
	for _, w := range topology.Certificates(c) {
		data, err := own.Issue(w, issue.CommonName, noon, 20*year)
		if err != nil {
			t.Fatal(err)
		}
		s[w.Secret] = data
	}
	read := s.read(c)
	for left, soon := range map[time.Duration]bool{15 * day: false, 14 * day: false, 14*day - 1: true, day: true, 0: true, -1: false} {
		got := warnings(c, read, certificate.AuthorityEnd, end.Add(-left))
		if (len(got) == 1) != soon || len(got) > 1 {
			t.Errorf("%s before its end: %+v", left, got)
		}
	}
	got := warnings(c, read, certificate.AuthorityEnd, end.Add(-5*day-time.Hour))[0]
	if want := " in ca.crt of Secret basic-cluster-client-secret ends on " + end.UTC().Format(time.DateOnly) + ", in 5 days: "; !strings.Contains(got.Text, want) {
		t.Errorf("%s, want %s", got.Text, want)
	}
	if want := "have a new one made, if kubectl tidb tls init has made it: kubectl tidb tls rotate basic --ca -n db"; got.Remedy.Line("") != want {
		t.Errorf("%s, want %s", got.Remedy.Line(""), want)
	}
}

// TestEndWarnings: a certificate that ends soon is reported with the command that has a new one issued, unless its
// authority ends soon as well.
func TestEndWarnings(t *testing.T) {
	c := cluster()
	read := all(t, c, authority(t, "own", noon)).read(c)
	got := warnings(c, read, certificate.End, noon.Add(year-3*day-time.Hour))
	if len(got) != len(read) {
		t.Fatalf("%d of %d", len(got), len(read))
	}
	if want := "the certificate in Secret basic-cluster-client-secret ends on 2027-07-01, in 3 days"; got[0].Text != want {
		t.Errorf("%s, want %s", got[0].Text, want)
	}
	if help := got[0].Remedy.Line(""); !strings.HasSuffix(help, ": kubectl tidb tls rotate basic -n db") {
		t.Error(help)
	}
	old := authority(t, "own", noon.Add(-10*year+10*day))
	last := all(t, c, old).read(c)
	if got := warnings(c, last, certificate.End, noon); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	if got := warnings(c, last, certificate.AuthorityEnd, noon); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestSigner: what counts is the authority that has signed the certificate, and of several that which ends
// last.
func TestSigner(t *testing.T) {
	c := cluster()
	old, next := authority(t, "own", noon.Add(-9*year)), authority(t, "own", noon)
	w := topology.Certificates(c)[0]
	trust := func(data map[string][]byte, by ...issue.Authority) certificate.Secret {
		data["ca.crt"] = nil
		for _, a := range by {
			data["ca.crt"] = append(data["ca.crt"], a.PEM()...)
		}
		return certificate.Parse(w.Secret, data, false)
	}
	for name, tt := range map[string]struct {
		s    certificate.Secret
		want time.Time
	}{
		"its own":            {trust(issued(t, next, w, noon), next), next.Certificate.NotAfter},
		"an old one as well": {trust(issued(t, next, w, noon), old, next), next.Certificate.NotAfter},
		"signed by the old":  {trust(issued(t, old, w, noon), old, next), old.Certificate.NotAfter},
		"only another":       {trust(issued(t, next, w, noon), old), time.Time{}},
	} {
		signer := tt.s.Signer(noon)
		if tt.want.IsZero() != (signer == nil) || signer != nil && !signer.NotAfter.Equal(tt.want) {
			t.Errorf("%s: %+v", name, signer)
		}
	}
}
