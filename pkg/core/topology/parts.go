package topology

import (
	"fmt"

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

// JoinsTo reports whether the TidbCluster is a part that joins the other one.
func (c Cluster) JoinsTo(other Cluster) bool {
	return c.IsPart() && c.Joined.Name == other.Name && c.Joined.Namespace == other.Namespace
}

// UsesOtherPD reports whether the members here connect to the PD of another TidbCluster of this Kubernetes cluster.
func (c Cluster) UsesOtherPD() bool {
	_, own := c.Group(PD)
	return c.IsPart() && !own && c.Joined.Domain == c.Domain
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
		return c.joinedPart()
	}
	return c
}

func (c Cluster) joinedPart() Cluster {
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

// PDHost returns the host that members connect to PD by. It is the name of a Service. tidb-operator leaves the namespace
// out, also of a Service in another namespace, where members of a part would not find PD.
func (c Cluster) PDHost() string {
	host := c.PDPart().SetName(PD)
	if other := c.JoinsNamespace(); other != "" {
		host += "." + other
	}
	return host
}

// serviceHost returns the whole DNS name of the Service of a component.
func (c Cluster) serviceHost(k Kind) string {
	host := fmt.Sprintf("%s.%s.svc", c.SetName(k), c.Namespace)
	if c.Domain != "" {
		host += "." + c.Domain
	}
	return host
}

// TiFlashPDHost returns the host by which TiFlash finds PD. As in tidb-operator, the name of an own PD has no domain.
func (c Cluster) TiFlashPDHost() string {
	if !c.UsesOtherPD() {
		c.Domain = ""
	}
	return c.PDPart().serviceHost(PD)
}

// TiFlashTiDBHost returns the host of the TiDB servers that TiFlash asks for the schema. A part without TiDB asks those
// of the part that it joins.
func (c Cluster) TiFlashTiDBHost() string {
	if _, own := c.Group(TiDB); own || !c.UsesOtherPD() {
		c.Domain = ""
		return c.serviceHost(TiDB)
	}
	return c.joinedPart().serviceHost(TiDB)
}

// validateParts refuses a part that could not find PD.
func validateParts(c Cluster) field.ErrorList {
	ref, at := c.Written.Spec.Cluster, field.NewPath("spec", "cluster")
	switch {
	case ref == nil:
		return nil
	case ref.Name == "":
		return field.ErrorList{field.Required(at.Child("name"), "it names the TidbCluster whose PD the members of this part use")}
	case c.Joined.Name == c.Name && c.Joined.Namespace == c.Namespace:
		return field.ErrorList{field.Invalid(at.Child("name"), ref.Name, "this is the TidbCluster itself: name the part that it is to join")}
	}
	var errs field.ErrorList
	if c.Joined.Domain != c.Domain {
		errs = append(errs, notYet(at.Child("clusterDomain"), "a part that joins a TidbCluster of another Kubernetes cluster"))
	}
	if _, own := c.Group(PD); own {
		errs = append(errs, notYet(field.NewPath("spec", "pd"), "a part with members of PD of its own"))
	}
	return errs
}

// updateParts refuses to move members to another PD. Members have the id of the database in their data, and would not
// start.
func updateParts(was *Cluster, is Cluster) field.ErrorList {
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
