package topology

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Joined is the TidbCluster whose PD the members of a part use (spec.cluster). A database can have several parts, and
// each part is a TidbCluster of its own. Joined is zero for a TidbCluster that uses its own PD alone.
type Joined struct {
	Namespace string
	Name      string
	Domain    string // the cluster domain of its Kubernetes cluster, "" for the same Kubernetes cluster
}

// String returns the namespace and the name.
func (j Joined) String() string { return j.Namespace + "/" + j.Name }

// joined reads it from the spec. As in tidb-operator, the namespace is the part's own where none is given.
func joined(tc *v1alpha1.TidbCluster) Joined {
	ref := tc.Spec.Cluster
	if ref == nil || ref.Name == "" {
		return Joined{}
	}
	j := Joined{Namespace: ref.Namespace, Name: ref.Name, Domain: ref.ClusterDomain}
	if j.Namespace == "" {
		j.Namespace = tc.Namespace
	}
	return j
}

// IsPart reports whether the TidbCluster joins another one, so that both are parts of one database.
func (c Cluster) IsPart() bool { return c.Joined.Name != "" }

// JoinsAcross reports whether the TidbCluster joins one that may be in another Kubernetes cluster. Nothing of that
// TidbCluster can be read here, and its PD can be reached only by members.
func (c Cluster) JoinsAcross() bool {
	return c.IsPart() && (c.AcrossK8s || c.Joined.Domain != c.Domain)
}

// SpansK8s reports whether the database may have members in several Kubernetes clusters. Pods there can have the same
// name and the same namespace as pods here, and only the cluster domain tells them apart.
func (c Cluster) SpansK8s() bool { return c.AcrossK8s || c.JoinsAcross() }

// MayHavePartsAcross reports whether parts in other Kubernetes clusters may use the PD here. Their members find PD only by
// names with a cluster domain.
func (c Cluster) MayHavePartsAcross() bool { return c.SpansK8s() || c.Domain != "" }

// JoinsHere reports whether the TidbCluster joins another one of this Kubernetes cluster.
func (c Cluster) JoinsHere() bool { return c.IsPart() && !c.JoinsAcross() }

// JoinsTo reports whether the TidbCluster is a part that joins the other one, which is of this Kubernetes cluster.
func (c Cluster) JoinsTo(other Cluster) bool {
	return c.IsPart() && c.Joined.Name == other.Name && c.Joined.Namespace == other.Namespace &&
		(c.JoinsHere() || c.Joined.Domain == other.Domain)
}

// SameDatabase reports whether two TidbClusters are parts of one database by their specs.
func (c Cluster) SameDatabase(other Cluster) bool {
	return c.JoinsTo(other) || other.JoinsTo(c) || c.IsPart() && c.Joined == other.Joined
}

// SharesPD reports whether two TidbClusters have members of PD of one database. In an upgrade each TidbCluster waits
// for PD of the other. A command that drives one TidbCluster after another would wait for ever.
func (c Cluster) SharesPD(other Cluster) bool {
	return c.HasPD() && other.HasPD() && c.SameDatabase(other) && !c.PDSuspended() && !other.PDSuspended()
}

// HasPD reports whether the TidbCluster has members of PD.
func (c Cluster) HasPD() bool {
	_, has := c.Group(PD)
	return has
}

// UsesOtherPD reports whether the members here connect to the PD of another TidbCluster of this Kubernetes cluster,
// because the part has no members of PD.
func (c Cluster) UsesOtherPD() bool {
	return !c.HasPD() && c.JoinsHere()
}

// Founds reports whether PD's first members start a new database. Members of a part join the database that exists, and
// so do members that are given addresses of PD. If they started a database, its data could never be united with that
// of the other members.
func (c Cluster) Founds() bool { return !c.IsPart() && len(c.PDAddresses) == 0 }

// JoinedPD returns the name of the PD that the members here join, for people. The name is "" where PD's first members
// start a database.
func (c Cluster) JoinedPD() string {
	switch {
	case c.IsPart():
		return "PD of " + c.Joined.String()
	case c.Founds():
		return ""
	}
	return "PD at " + strings.Join(c.PDAddresses, ", ")
}

// HasHadPartsAcross reports whether parts in other Kubernetes clusters may have members in the PD that was started here. A
// cluster domain alone says little, because clusters in one place have one as well.
func (c Cluster) HasHadPartsAcross() bool {
	if !c.Founds() || !c.MayHavePartsAcross() {
		return false
	}
	s := c.Source.Status
	return s.ClusterID != "" && (c.SpansK8s() || len(s.PD.PeerMembers)+len(s.TiKV.PeerStores)+len(s.TiFlash.PeerStores) > 0)
}

// JoinsNamespace returns the other namespace whose PD the members here connect to, "" if there is none. A driver connects
// to pods there, and needs rights there.
func (c Cluster) JoinsNamespace() string {
	if c.UsesOtherPD() && c.Joined.Namespace != c.Namespace {
		return c.Joined.Namespace
	}
	return ""
}

// PDPart returns the TidbCluster whose PD the members here connect to. For a part without PD, that is the other part, of
// which only names and TLS are known. Nothing of the other part may be changed, because another driver drives it.
func (c Cluster) PDPart() Cluster {
	if c.UsesOtherPD() {
		return c.JoinedPart()
	}
	return c
}

// JoinedPart returns the TidbCluster that a part joins, of which only names and TLS are known.
func (c Cluster) JoinedPart() Cluster {
	j := c.Joined
	return Cluster{Namespace: j.Namespace, Name: j.Name, Instance: j.Name, Domain: j.Domain, TLS: c.TLS}
}

// WithPDPart adds to an error about a component that the cluster does not have the same command for the part that has the
// component. That is PD, for a part without PD. Any other error stays as it is.
func (c Cluster) WithPDPart(k Kind, err error, same func(Cluster) remedy.Command) error {
	if err == nil || !c.UsesOtherPD() || !k.Votes() {
		return err
	}
	return remedy.For(err, remedy.Run(fmt.Sprintf("%s of this part is that of cluster %s", k.Title(), c.Joined), same(c.PDPart())))
}

// pdHosts returns the hosts that members connect to PD by. They are names of Services. tidb-operator leaves the namespace
// out, also of a Service in another namespace, where members of a part would not find PD. Members with PD in another
// Kubernetes cluster too can start while PD here does not run.
func (c Cluster) pdHosts() []string {
	host := c.PDPart().SetName(PD)
	if other := c.JoinsNamespace(); other != "" {
		host += "." + other
	}
	return c.withHostAcross(host)
}

// withHostAcross adds to a host the one of PD in the other Kubernetes cluster, for a part that joins it. That is the
// name of a headless Service, because addresses of other Services are valid in one Kubernetes cluster only.
func (c Cluster) withHostAcross(host string) []string {
	if !c.JoinsAcross() {
		return []string{host}
	}
	return []string{host, c.JoinedPart().headlessHost(PD)}
}

// PDEndpoints returns where members ask for PD, as <host>:<port>, with commas between several.
func (c Cluster) PDEndpoints() string { return endpoints("", c.pdHosts()) }

// PDURLs returns the same as URLs.
func (c Cluster) PDURLs() string { return endpoints(c.Scheme()+"://", c.pdHosts()) }

func endpoints(scheme string, hosts []string) string {
	var all []string
	for _, host := range hosts {
		all = append(all, fmt.Sprintf("%s%s:%d", scheme, host, PDClientPort))
	}
	return strings.Join(all, ",")
}

// PDToJoin returns the URLs of members of PD that are no members here, and that a first member joins. They are nil where
// PD's first members start a database.
func (c Cluster) PDToJoin() []string {
	switch {
	case c.JoinsAcross():
		return []string{endpoints(c.Scheme()+"://", []string{c.JoinedPart().headlessHost(PD)})}
	case c.IsPart():
		return []string{endpoints(c.Scheme()+"://", []string{c.JoinedPart().serviceHost(PD)})}
	}
	return c.PDAddresses
}

// serviceHost returns the whole DNS name of the Service of a component.
func (c Cluster) serviceHost(k Kind) string { return c.wholeName(c.SetName(k)) }

// headlessHost returns the whole DNS name of the Service of a component that leads to all of its pods.
func (c Cluster) headlessHost(k Kind) string { return c.wholeName(c.PeerService(k)) }

func (c Cluster) wholeName(service string) string {
	host := fmt.Sprintf("%s.%s.svc", service, c.Namespace)
	if c.Domain != "" {
		host += "." + c.Domain
	}
	return host
}

// TiFlashPDEndpoints returns where TiFlash asks for PD. As in tidb-operator, the name of an own PD has no domain.
func (c Cluster) TiFlashPDEndpoints() string {
	of := c.PDPart()
	if !c.UsesOtherPD() {
		of.Domain = ""
	}
	return endpoints("", c.withHostAcross(of.serviceHost(PD)))
}

// TiFlashTiDBHost returns the host of the TiDB servers that TiFlash asks for the schema. A part without TiDB asks those
// of the part that it joins.
func (c Cluster) TiFlashTiDBHost() string {
	_, own := c.Group(TiDB)
	switch {
	case own || !c.IsPart():
		c.Domain = ""
		return c.serviceHost(TiDB)
	case c.JoinsAcross():
		return c.JoinedPart().headlessHost(TiDB)
	}
	return c.JoinedPart().serviceHost(TiDB)
}

// validateParts refuses a part that could not find PD.
func validateParts(c Cluster) field.ErrorList {
	ref, at := c.Written.Spec.Cluster, field.NewPath("spec", "cluster")
	switch {
	case c.HasLeft():
		return field.ErrorList{field.Forbidden(field.NewPath("metadata", "annotations").Key(AnnotationLeft),
			"PD lists no member of this part any more, and nothing is left to do but to delete this TidbCluster")}
	case ref == nil:
		return nil
	case ref.Name == "":
		return field.ErrorList{field.Required(at.Child("name"), "it names the TidbCluster whose PD the members of this part use")}
	case c.Joined.Name == c.Name && c.Joined.Namespace == c.Namespace && c.Joined.Domain == c.Domain:
		return field.ErrorList{field.Invalid(at.Child("name"), ref.Name, "this is the TidbCluster itself: name the part that it is to join")}
	}
	own := c.HasPD()
	switch {
	case !own && c.JoinsAcross():
		return field.ErrorList{field.Required(field.NewPath("spec", "pd"), "PD of "+c.Joined.String()+
			" is in another Kubernetes cluster and cannot be asked from here: have at least one member of PD in this part")}
	case own && c.PDName(0) == c.JoinedPart().PDName(0):
		return field.ErrorList{field.Invalid(at.Child("name"), ref.Name, fmt.Sprintf(
			"members of PD here would have the same names as its members, such as %s: give this TidbCluster another name", c.PDName(0)))}
	}
	return nil
}

// validatePDAddresses refuses addresses of PD that no member here could use.
func validatePDAddresses(c Cluster) field.ErrorList {
	at := field.NewPath("spec", "pdAddresses")
	if len(c.PDAddresses) == 0 {
		return nil
	}
	if !c.HasPD() {
		return field.ErrorList{field.Required(field.NewPath("spec", "pd"),
			"PD outside this Kubernetes cluster cannot be asked from here: have at least one member of PD in this part")}
	}
	if c.IsPart() {
		return field.ErrorList{field.Forbidden(at, "spec.cluster says already which PD the members join: name one of both")}
	}
	if c.PrefersPDAddresses() {
		return field.ErrorList{notYet(field.NewPath("spec", "startScriptV2FeatureFlags"),
			"PreferPDAddressesOverDiscovery, with which members do not ask PD of this part")}
	}
	var errs field.ErrorList
	for i, address := range c.PDAddresses {
		u, err := url.Parse(address)
		switch {
		case err == nil && u.Scheme != "http" && u.Scheme != "https": // the API module refuses it
		case err != nil || u.Port() == "" || strings.Trim(u.Path, "/") != "" || strings.ContainsAny(address, ", \t\n"):
			errs = append(errs, field.Invalid(at.Index(i), address, "must be the URL of one member of PD, such as "+c.Scheme()+"://pd.example.com:2379"))
		case u.Scheme != c.Scheme():
			errs = append(errs, field.Invalid(at.Index(i), address,
				fmt.Sprintf("must begin with %s:// because spec.tlsCluster.enabled is %t", c.Scheme(), c.TLS.Members)))
		}
	}
	return errs
}

// updateParts refuses to move members to another PD. Members have the id of the database in their data, and would not
// start.
func updateParts(was *Cluster, is Cluster) field.ErrorList {
	if was.Source.Status.ClusterID != "" && was.Domain == "" && was.AcrossK8s != is.AcrossK8s {
		return field.ErrorList{field.Forbidden(field.NewPath("spec", "acrossK8s"), fmt.Sprintf(
			"it was %t, and members of PD have other names with it: make a new cluster and move the data", was.AcrossK8s))}
	}
	if was.Joined == is.Joined || was.Source.Status.ClusterID == "" {
		return nil // no member has ever had a PD
	}
	at := field.NewPath("spec", "cluster")
	const move = "the members have the id of their database in their data, and would not start with another PD: make a new cluster and move the data"
	switch {
	case !was.IsPart():
		return field.ErrorList{field.Forbidden(at, "the cluster has a PD of its own: "+move)}
	case !is.IsPart():
		return field.ErrorList{field.Required(at, fmt.Sprintf("it was %s: %s", was.Joined, move))}
	}
	return field.ErrorList{field.Forbidden(at, fmt.Sprintf("it was %s: %s", was.Joined, move))}
}
