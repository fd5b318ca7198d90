package topology

import (
	"fmt"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// Certificate is a Secret with a certificate that a cluster needs.
type Certificate struct {
	Secret string
	Circle Circle
	// Server: clients that connect see this certificate; Client: clients show it when they connect.
	Server, Client bool
	// WithoutCA: nobody reads the authority in the Secret.
	WithoutCA bool
	// Called are the names and addresses by which those who connect, and verify, call its owners.
	Called []string
	// Names are those that a certificate should have: Called for any number of members, and those
	// of Services.
	Names []string
	// Services are the names of each Service by which SQL clients reach those who show it. A client need
	// not verify the name, and may have another one for the same server.
	Services [][]string
	// MountedBy are the components whose pods mount it.
	MountedBy []Kind
}

// Circle is a group of certificates whose owners connect to each other. Each owner has to trust the
// authorities of the others.
type Circle int

// The circles: members of the cluster and their clients, and TiDB with SQL clients.
const (
	MembersCircle Circle = iota
	SQLCircle
)

// Certificates returns the Secrets with certificates that the cluster needs, in the order of its
// components. The certificate of clients of members is the first, because this program is such a
// client.
func Certificates(c Cluster) []Certificate {
	var all []Certificate
	if c.TLS.Members {
		all = append(all, c.clientCertificate())
	}
	for _, g := range c.Groups {
		r := readingOf(g.Kind)
		mounted := c.memberCertificate(g)
		if r.sharesOne != nil && r.sharesOne(c) {
			mounted = nil
		}
		if r.certificates != nil {
			mounted = append(mounted, r.certificates(c)...)
		}
		for _, m := range mounted {
			i := slices.IndexFunc(all, func(o Certificate) bool { return o.Secret == m.Secret })
			if i < 0 {
				all, i = append(all, m), len(all)
			} else {
				all[i].Called, all[i].Names = union(all[i].Called, m.Called), union(all[i].Names, m.Names)
			}
			all[i].MountedBy = append(all[i].MountedBy, g.Kind)
		}
	}
	return all
}

// union returns the names of two lists, each name once.
func union(names, more []string) []string {
	all := slices.Clone(names)
	for _, n := range more {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// AllCertificates returns the certificates that the cluster would need with all components. It is for a
// person who makes all of them at once.
func AllCertificates(c Cluster) []Certificate {
	all := Certificates(c)
	add := func(w Certificate) {
		if !slices.ContainsFunc(all, func(o Certificate) bool { return o.Secret == w.Secret }) {
			all = append(all, w)
		}
	}
	for _, k := range Kinds() {
		for _, w := range c.memberCertificate(Group{Kind: k}) {
			add(w)
		}
	}
	if c.TLS.SQL {
		add(c.sqlServer())
		add(c.sqlClient(nil))
	}
	return all
}

// AuthoritySecret returns the name of the Secret with the authority that signs the certificates of a
// circle. It is for certificates that this program makes. Each circle has its own authority: an SQL
// client with a certificate of the other circle could give orders to PD.
func (c Cluster) AuthoritySecret(circle Circle) string {
	if circle == SQLCircle {
		return c.SetName(TiDB) + "-ca-secret"
	}
	return c.Name + "-cluster-ca-secret"
}

// CertificateName returns the common name that all members accept, "" if any will do.
func CertificateName(c Cluster) string {
	for _, g := range c.Groups {
		if names := AcceptedNames(c, g.Kind); len(names) > 0 {
			return names[0]
		}
	}
	return ""
}

func (c Cluster) clientCertificate() Certificate {
	return Certificate{Secret: c.ClientSecret(), Circle: MembersCircle, Client: true}
}

// memberCertificate returns the certificate that members of a component show each other.
func (c Cluster) memberCertificate(g Group) []Certificate {
	if !c.TLS.Members {
		return nil
	}
	var called []string
	if g.Kind.traits().byService {
		called = append(called, c.SetName(g.Kind))
	}
	for _, n := range g.Ordinals().All() {
		called = append(called, c.PodHost(g.Kind, n))
		if by := readingOf(g.Kind).called; by != nil && by(c, n) != c.PodHost(g.Kind, n) {
			called = append(called, by(c, n))
		}
	}
	return []Certificate{{
		Secret: c.MemberSecret(g.Kind), Circle: MembersCircle, Server: true, Client: true,
		Called: called, Names: append(c.serviceNames(g.Kind), "localhost", "127.0.0.1", "::1"),
	}}
}

// sqlServer returns the certificate that TiDB and TiProxy show SQL clients, who may verify it.
func (c Cluster) sqlServer() Certificate {
	w := Certificate{
		Secret: c.SQLServerSecret(), Circle: SQLCircle, Server: true, WithoutCA: c.tlsClient().DisableClientAuthn,
		Names: append(slices.Concat(c.serviceNames(TiDB), c.serviceNames(TiProxy)), "localhost", "127.0.0.1", "::1"),
	}
	if db := c.Source.Spec.TiDB; db != nil && db.Service != nil {
		w.Services = append(w.Services, c.namesOf(c.SetName(TiDB)))
	}
	if c.Source.Spec.TiProxy != nil {
		w.Services = append(w.Services, c.namesOf(c.SetName(TiProxy)))
	}
	return w
}

// sqlClient returns the certificate with which a member connects to TiDB. own is the Secret that its
// component names for that.
func (c Cluster) sqlClient(own *string) Certificate {
	return Certificate{
		Secret: c.SQLClientSecret(own), Circle: SQLCircle, Client: true, WithoutCA: c.tlsClient().SkipInternalClientCA,
	}
}

func (c Cluster) tlsClient() v1alpha1.TiDBTLSClient {
	if db := c.Source.Spec.TiDB; db != nil && db.TLSClient != nil {
		return *db.TLSClient
	}
	return v1alpha1.TiDBTLSClient{}
}

// serviceNames returns the names of a component's Services, and of all pods that it can have.
func (c Cluster) serviceNames(k Kind) []string {
	var names []string
	for _, s := range slices.Compact([]string{c.SetName(k), c.PeerService(k), "*." + c.PeerService(k)}) {
		names = append(names, c.namesOf(s)...)
	}
	return names
}

// namesOf returns the names of a Service in DNS, the shortest first.
func (c Cluster) namesOf(service string) []string {
	names := []string{service, service + "." + c.Namespace, service + "." + c.Namespace + ".svc"}
	if c.Domain != "" {
		names = append(names, fmt.Sprintf("%s.%s.svc.%s", service, c.Namespace, c.Domain))
	}
	return names
}

// acceptedNames is the key of PD and of TiKV; see reading.
const acceptedNames = "security.cert-allowed-cn"

// AcceptedNames returns the common names of certificates that members of a component accept; none
// if they accept all.
func AcceptedNames(c Cluster, k Kind) []string {
	spec, ok := part(c.Source, k)
	key := readingOf(k).acceptedNames
	if !ok || key == "" || len(spec.configs) == 0 || notTable(spec.configs[0].MP, "security") != "" {
		return nil
	}
	value := spec.configs[0].Get(key)
	if value == nil {
		return nil
	}
	if names, err := value.AsStringSlice(); err == nil {
		return names
	}
	if name, err := value.AsString(); err == nil && name != "" {
		return []string{name}
	}
	return nil
}

// DashboardTLS reports whether PD's dashboard connects to TiDB as an SQL client with a certificate.
func (c Cluster) DashboardTLS() bool {
	g, ok := c.Group(PD)
	return ok && c.TLS.SQL && !c.Source.SkipTLSWhenConnectTiDB() && !BeforeMajor(g.Version, 4)
}
