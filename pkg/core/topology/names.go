package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// Ports that the components listen on.
const (
	PDClientPort   = 2379
	PDPeerPort     = 2380
	TiKVServerPort = 20160
	TiKVStatusPort = 20180
	TiDBServerPort = 4000
	TiDBStatusPort = 10080

	TiProxyServerPort = 6000
	TiProxyStatusPort = 3080
	TiProxyPeerPort   = 3081

	TiCDCPort = 8301
	PumpPort  = 8250

	TiFlashServicePort     = 3930
	TiFlashProxyPort       = 20170 // of its part that copies regions
	TiFlashProxyStatusPort = 20292
	TiFlashMetricsPort     = 8234
	TiFlashTCPPort         = 9000 // this one and the next two: of versions before v7.1
	TiFlashHTTPPort        = 8123
	TiFlashInternalPort    = 9009
)

// Label keys that Kubernetes objects of a cluster carry.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelUsedBy    = "app.kubernetes.io/used-by"
)

// Label keys that say which member of which cluster an object belongs to. They are on objects whose names do not say
// so.
const (
	LabelClusterID = "tidb.pingcap.com/cluster-id" // PD's cluster id
	LabelMemberID  = "tidb.pingcap.com/member-id"  // PD's id of a member
	LabelStoreID   = "tidb.pingcap.com/store-id"   // PD's id of a store
	// LabelPodName is a label of claims, and an annotation of claims and volumes.
	LabelPodName = "tidb.pingcap.com/pod-name"
	// LabelNamespace is a label of volumes, which have no namespace.
	LabelNamespace = "app.kubernetes.io/namespace"
)

// AnnotationDeferDeleting marks a claim that a scale-in left behind. Its data belongs to a member that PD has
// forgotten, so the next scale-out to the same ordinal has to delete the claim first. The value is the time at which it
// was marked.
const AnnotationDeferDeleting = "tidb.pingcap.com/pvc-defer-deleting"

// AnnotationEvictionBegun is tidb-operator's mark on the pod of a store that it evicts
// region leaders from before a restart. The value is when it began.
const AnnotationEvictionBegun = "evictLeaderBeginTime"

// AnnotationVolumesReplaced is tidb-operator's mark on the pod of a member that it replaces for new volumes. The value is
// "true".
const AnnotationVolumesReplaced = "tidb.pingcap.com/replace-volume"

// AnnotationDrainBegun is tidb-operator's mark on the pod of a capture that it drains. The value is when it
// began. tidb-operator does not take it off, and skips a drain whose time is over by it.
const AnnotationDrainBegun = "tidb.pingcap.com/ticdc-graceful-shutdown-begin-time"

// AnnotationClosing is on the pod of a Pump that was asked to close. The value is how often the container had been
// restarted: a process that was started later is online again. The Pump writes nothing into PD's etcd between the
// request and its end.
const AnnotationClosing = "kubectl-tidb/closing"

// EnvBinlog is a variable of TiDB's container: "true" where it writes a binlog to Pump.
const EnvBinlog = "BINLOG_ENABLED"

// AnnotationRan is the highest version that has run on the data of a claim. A version that is no
// release, as nightly, comes after it, as in "v8.5.2 nightly". It stays with the claim when the
// cluster is deleted: nothing else records then which versions can read the data.
const AnnotationRan = "kubectl-tidb/ran-version"

// SetName returns the name of the component's StatefulSet, e.g. "basic-tikv".
func (c Cluster) SetName(k Kind) string { return c.Name + "-" + string(k) }

// TiFlashVolume returns the name of the claim template of one of TiFlash's storage claims.
func TiFlashVolume(i int) string { return fmt.Sprintf("data%d", i) }

// PodName returns the name of a member's pod, e.g. "basic-tikv-0".
func (c Cluster) PodName(k Kind, ordinal int) string {
	return fmt.Sprintf("%s-%d", c.SetName(k), ordinal)
}

// PeerService returns the name of the headless Service that gives each pod its DNS name.
func (c Cluster) PeerService(k Kind) string {
	if end := k.traits().service; end != nil {
		return c.SetName(k) + *end
	}
	return c.SetName(k) + "-peer"
}

// PodHost returns the pod's DNS name as PD has it, e.g. "basic-tikv-0.basic-tikv-peer.db.svc".
func (c Cluster) PodHost(k Kind, ordinal int) string {
	host := fmt.Sprintf("%s.%s.%s.svc", c.PodName(k, ordinal), c.PeerService(k), c.Namespace)
	if c.Domain != "" {
		host += "." + c.Domain
	}
	return host
}

// PDName returns PD's name of a member: the pod's name, or its DNS name if there is a cluster domain. The
// reason is that pods of several Kubernetes clusters can have the same name.
func (c Cluster) PDName(ordinal int) string {
	if c.Domain != "" || c.SpansK8s() {
		return c.PodHost(PD, ordinal)
	}
	return c.PodName(PD, ordinal)
}

// HasPDName reports whether a PD member of this name runs in this Kubernetes cluster. With members in other Kubernetes
// clusters the member's name is the name of its host.
func (c Cluster) HasPDName(name string) bool {
	n, ok := c.Ordinal(PD, name)
	return ok && (name == c.PDName(n) || name == c.PodHost(PD, n))
}

// BootstrapMap returns the name of the ConfigMap from which a PD pod without data reads what to do.
func (c Cluster) BootstrapMap() string { return c.Name + "-discovery" }

// HelmMap returns the name of a Helm chart's ConfigMap for a component without a configuration in the spec, "" for
// none. The charts of early releases of tidb-operator wrote the digest of its content into an annotation.
func (c Cluster) HelmMap(k Kind) string {
	name := c.SetName(k)
	digest := c.Source.Annotations[fmt.Sprintf("pingcap.com/%s.%s.sha", k, name)]
	if digest == "" {
		return ""
	}
	return name + "-" + digest
}

// LedgerMap returns the name of the ConfigMap that records our temporary changes in PD. It also records which version
// rendered the pod templates.
func (c Cluster) LedgerMap() string { return c.Name + "-ledger" }

// LeaseName returns the name of the Lease that makes its holder the only driver of the cluster.
func (c Cluster) LeaseName() string { return c.Name + "-kubectl-tidb" }

// Ordinal returns the ordinal of the member with a pod's name, or with a DNS name that begins with
// it.
func (c Cluster) Ordinal(k Kind, host string) (int, bool) {
	pod, _, _ := strings.Cut(host, ".")
	digits, ok := strings.CutPrefix(pod, c.SetName(k)+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || strconv.Itoa(n) != digits {
		return 0, false
	}
	return n, true
}

// HostOrdinal returns the ordinal of the member whose pod has an address. An address without a cluster domain is one of
// the cluster too. When the domain is added to the spec later, PD keeps the address that a member was started with. But
// where the TiDB cluster spans several Kubernetes clusters, only the domain distinguishes pods of the same name. So an
// address with another domain is never one of the cluster.
func (c Cluster) HostOrdinal(k Kind, host string) (int, bool) {
	n, ok := c.Ordinal(k, host)
	switch {
	case !ok:
		return 0, false
	case c.SpansK8s():
		return n, host == c.PodHost(k, n)
	}
	domain := c.Domain
	c.Domain = ""
	own := c.PodHost(k, n)
	if domain != "" {
		return n, host == own || host == own+"."+domain
	}
	return n, host == own || strings.HasPrefix(host, own+".")
}

// IsPodHost reports whether an address has the form of those that pods of a TidbCluster get: <pod>.<set>-peer,
// whatever the cluster.
func IsPodHost(host string) bool {
	pod, rest, _ := strings.Cut(host, ".")
	service, _, _ := strings.Cut(rest, ".")
	i := strings.LastIndex(pod, "-")
	return i > 0 && service == pod[:i]+"-peer"
}

// PartWithPD returns the TidbCluster whose member of PD has a host, of which only names are known.
func PartWithPD(host string) (c Cluster, ok bool) {
	labels := strings.Split(host, ".")
	if !IsPodHost(host) || len(labels) < 3 {
		return c, false
	}
	name, ok := strings.CutSuffix(labels[1], "-"+string(PD)+"-peer")
	return Cluster{Namespace: labels[2], Name: name, Domain: DomainOf(host)}, ok
}

// DomainOf returns the cluster domain of a pod's DNS name, which is <pod>.<service>.<namespace>.svc.<domain>, "" for none.
func DomainOf(host string) string {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	return strings.Join(labels[min(len(labels), 4):], ".")
}

// ClaimOrdinal returns the template of a component's claim and the ordinal of the member that has the claim. It reads
// them from the name, <template>-<pod>, which Kubernetes sets.
func (c Cluster) ClaimOrdinal(k Kind, claim string) (template string, ordinal int, ok bool) {
	i := strings.LastIndex(claim, "-"+c.SetName(k)+"-")
	if i < 0 {
		return "", 0, false
	}
	ordinal, ok = c.Ordinal(k, claim[i+1:])
	return claim[:i], ordinal, ok
}

// Member returns the component and the ordinal of the member with a pod's name. A DNS name that begins with the pod's
// name will do too.
func (c Cluster) Member(host string) (Kind, int, bool) {
	for _, k := range Kinds() {
		if n, ok := c.Ordinal(k, host); ok {
			return k, n, true
		}
	}
	return "", 0, false
}

// Every is the ordinal that Named returns for all members of a component.
const Every = -1

// Named returns which members an argument of a command names. A pod names one member, with the name of the cluster or
// without, as "basic-tikv-0" or "tikv-0". A component names all of its members, as "tikv". All commands understand the
// same names.
func (c Cluster) Named(arg string) (k Kind, ordinal int, ok bool) {
	if k, ok := ParseKind(arg); ok {
		return k, Every, true
	}
	if k, n, ok := c.Member(arg); ok {
		return k, n, true
	}
	return c.Member(c.Name + "-" + arg)
}

// Labels returns the four labels that select a component's pods.
func (c Cluster) Labels(k Kind) map[string]string {
	labels := c.Selector()
	labels[LabelComponent] = string(k)
	return labels
}

// Selector returns the labels that every object of the cluster has.
func (c Cluster) Selector() map[string]string {
	return map[string]string{
		LabelName:      "tidb-cluster",
		LabelManagedBy: "tidb-operator",
		LabelInstance:  c.Instance,
	}
}

// InitSecret returns the name of the Secret with the first password of TiDB's root.
func (c Cluster) InitSecret() string { return c.Name + "-init" }

// KeyRoot is the key of root's password in the Secret InitSecret.
const KeyRoot = "root"

// AuthTokenSecret returns the name of the Secret with the keys for logins by token.
func (c Cluster) AuthTokenSecret() string { return c.Name + "-tidb-auth-token-jwks-secret" }
