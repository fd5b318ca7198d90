// Package rbac lists the permissions in Kubernetes that the plugin needs, for those
// who grant them. A test compares the list with the requests in the source.
package rbac

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Role is what a user wants to do with clusters.
type Role string

// The roles. Each but the last has also the rights of all before.
const (
	Viewer Role = "viewer" // reads, such as status
	Driver Role = "driver" // makes clusters what their TidbClusters ask for: sync, or a daemon
	Editor Role = "editor" // changes TidbClusters and drives them
	// Maintainer takes hosts down, which have members of clusters in several namespaces: maintenance.
	Maintainer Role = "maintainer"
	// Scheduler gives pods rights of their own, which back up clusters: backup schedule.
	Scheduler Role = "scheduler"
	Installer Role = "installer" // installs the definitions of TidbCluster and Backup: init
)

// Roles are all roles, the one with the fewest rights first.
func Roles() []Role { return []Role{Viewer, Driver, Editor, Maintainer, Scheduler, Installer} }

// Scope says where a right is needed.
type Scope int

const (
	// Namespace is the namespace of the clusters. Its rights are required.
	Namespace Scope = iota
	// Everywhere is for objects without a namespace, and for reading other
	// namespaces. The maintainer and the installer require these rights;
	// without them other roles do less, see Right.Without.
	Everywhere
)

// Right is one right and why it is needed.
type Right struct {
	Role            Role // the first role that needs it
	Scope           Scope
	Group, Resource string // with its subresource, as in "pods/portforward"
	Verbs           []string
	For             string // what it is needed for
	Without         string // what happens without it, "" when the command fails
}

const (
	clusters     = "pingcap.com"
	apps         = "apps"
	advanced     = "apps.pingcap.com"
	policy       = "policy"
	coordination = "coordination.k8s.io"
	storage      = "storage.k8s.io"
	access       = "rbac.authorization.k8s.io"
	extensions   = "apiextensions.k8s.io"
	certManager  = "cert-manager.io"
	batch        = "batch"
)

// rights are all rights, sorted by role.
var rights = []Right{
	{Viewer, Namespace, clusters, "tidbclusters", []string{"get", "list", "watch"}, "what is wanted", ""},
	{Viewer, Namespace, apps, "statefulsets", []string{"list", "watch"}, "what there is", ""},
	{Viewer, Namespace, advanced, "statefulsets", []string{"list", "watch"}, "what there is in clusters with AdvancedStatefulSets of tidb-operator", "clusters with AdvancedStatefulSets cannot be read, and others need nothing of this"},
	{Viewer, Namespace, apps, "deployments", []string{"get"}, "whether there is a discovery server of tidb-operator", ""},
	{Viewer, Namespace, "", "pods", []string{"get", "list", "watch"}, "what there is", ""},
	{Viewer, Namespace, "", "persistentvolumeclaims", []string{"list", "watch"}, "what there is", ""},
	{Viewer, Namespace, "", "services", []string{"list"}, "what there is", ""},
	{Viewer, Namespace, "", "configmaps", []string{"get", "list"}, "what there is, and what was made in PD for a while", ""},
	{Viewer, Namespace, "", "pods/log", []string{"get"}, "logs", ""},
	{Viewer, Namespace, "", "events", []string{"list", "watch"}, "events, the archive of report --bundle, and why Kubernetes makes no pod, such as for a quota", "the archive has none, and the reason is not shown"},
	{Viewer, Namespace, "", "pods/portforward", []string{"create", "get"}, "asking members, but with direct connections (`--dial`); one of the verbs will do with most API servers", ""},
	{Viewer, Namespace, "", "secrets", []string{"get"}, "the certificates of clusters with TLS, ours among them; whether Secrets exist that the spec names", "clusters with TLS cannot be asked; for others nothing is checked"},
	{Viewer, Namespace, policy, "poddisruptionbudgets", []string{"list"}, "whether a drain may evict several members at once", "it is not known"},
	{Viewer, Namespace, batch, "cronjobs", []string{"list"}, "whether a schedule of backups fails: `doctor`", "it is not known"},
	{Viewer, Namespace, coordination, "leases", []string{"get", "list"}, "who drives a cluster", ""},
	{Viewer, Everywhere, clusters, "tidbclusters", []string{"list"}, "finding clusters in other namespaces", "only those of one namespace are found"},
	{Viewer, Everywhere, coordination, "leases", []string{"list"}, "noticing a tidb-operator at work", "it is noticed only in the namespace of the cluster, and in those where it is usually installed"},
	{Viewer, Everywhere, apps, "deployments", []string{"get"}, "which clusters a tidb-operator drives", "its role bindings are read instead"},
	{Viewer, Everywhere, access, "clusterrolebindings", []string{"list"}, "which clusters a tidb-operator drives, where its Deployment may not be read", "it is taken to drive all clusters"},
	{Viewer, Everywhere, access, "rolebindings", []string{"list"}, "which clusters a tidb-operator drives, where its Deployment may not be read", "it is taken to drive all clusters"},
	{Viewer, Everywhere, "", "nodes", []string{"get", "list"}, "where stores are, for PD to spread replicas by; whether a node is under maintenance, or is not Ready; whether there is a node that can use the volume of a pod that waits for a node; whether the kubelet's report on a silent member of PD, or on a pod that has ended, is fresh; whether the node of `replace --away-from` is cordoned", "stores keep the labels that they have, no maintenance, no lost node and no lost volume is shown, a silent member of PD counts as one that may serve, only PD's word lets a pod that has ended be replaced, and `replace --away-from` is refused"},
	{Viewer, Everywhere, "", "persistentvolumes", []string{"get"}, "which nodes can use the volume of a pod that waits for a node; for a driver, reclaim policy and labels of volumes", "no lost volume is shown, and a driver leaves volumes as they are"},
	{Viewer, Everywhere, "", "namespaces", []string{"list"}, "completion of --namespace", "it completes nothing"},

	{Driver, Namespace, clusters, "tidbclusters", []string{"patch"}, "the status, which with TidbClusters includes the right to change what is wanted", ""},
	{Driver, Namespace, clusters, "tidbclusters/finalizers", []string{"update"}, "being the owner of what is made, where the API server asks for that, as OpenShift's does", "nothing, with other API servers"},
	{Driver, Namespace, coordination, "leases", []string{"create", "update"}, "being the only driver of a cluster", ""},
	{Driver, Namespace, "", "services", []string{"create", "get", "update", "watch"}, "making them, and keeping them up to date", ""},
	{Driver, Namespace, "", "configmaps", []string{"create", "patch", "update", "watch"}, "configuration, and the record of what was made in PD for a while", ""},
	{Driver, Namespace, apps, "deployments", []string{"list", "watch"}, "whether there is a discovery server of tidb-operator, for a process that drives all the time", "nothing, for one that ends"},
	{Driver, Namespace, apps, "statefulsets", []string{"create", "delete", "get", "update"}, "scaling and rolling; deleted only to suspend, or to change its claim templates while its pods stay", ""},
	{Driver, Namespace, advanced, "statefulsets", []string{"create", "delete", "get", "update"}, "the same in clusters with AdvancedStatefulSets of tidb-operator", "clusters with AdvancedStatefulSets are not changed, and others need nothing of this"},
	{Driver, Namespace, "", "pods", []string{"delete", "patch"}, "labels; deleting one that cannot come back by itself", ""},
	{Driver, Namespace, "", "persistentvolumeclaims", []string{"delete", "get", "patch"}, "marks and labels, larger volumes; deleting what a removed member has left when its place is taken again", ""},
	{Driver, Namespace, "", "secrets", []string{"create"}, "the first password of TiDB's root, where `spec.tidb.initializer.createPassword` asks for it; the certificates that `tls init` and `create --tls` make", "no first password is set, and no certificates are made"},
	{Driver, Namespace, "", "events", []string{"create", "patch"}, "showing what was done and what failed in describe, for a process that drives all the time", "describe shows none"},
	{Driver, Everywhere, "", "persistentvolumes", []string{"patch"}, "reclaim policy and labels of volumes", "they stay as they are"},
	{Driver, Everywhere, storage, "storageclasses", []string{"get"}, "whether volumes can grow", "it is known only when one is to grow"},

	{Editor, Namespace, clusters, "tidbclusters", []string{"create", "delete"}, "create, apply and delete", ""},
	{Editor, Namespace, "", "pods", []string{"create"}, "asking the API server, by a dry run, whether it takes the pods of a change; none is made", "what only the making of a pod shows, such as a PriorityClass that does not exist, is found after the change is written"},
	{Editor, Namespace, policy, "poddisruptionbudgets", []string{"create"}, "having a drain evict one member at a time: `create`, `doctor --fix`", "none are made"},
	{Editor, Namespace, clusters, "backups", []string{"list"}, "`backup list` and `backup show`, `upgrade --require-backup-newer-than`, whether the place of a new backup is free, and what `restore --from BACKUP` restores", "an upgrade with this flag is refused, and so is `backup`"},
	{Editor, Namespace, clusters, "backups", []string{"create"}, "recording the result of `backup`", "`backup` says that its result is not recorded"},
	{Editor, Namespace, clusters, "backups", []string{"patch"}, "recording that `backup verify` has found a backup intact, `backup drill` all of its rows, or that `backup delete` begins to delete its files", "these say that their result is not recorded, and no file is deleted"},
	{Editor, Namespace, clusters, "backups", []string{"delete"}, "`backup delete` and `backup prune`", "the Backup is left when its files are deleted, and counts for nothing"},
	{Editor, Namespace, batch, "jobs", []string{"create", "delete", "get"}, "the Job of a `backup`, a `restore`, a `backup verify`, a `backup drill`, a `backup delete` or a `backup prune`", "these are refused"},
	{Editor, Namespace, batch, "jobs", []string{"patch"}, "having the Job of a `restore` begin after PD's settings are recorded", "`restore` does not begin"},
	{Editor, Namespace, "", "secrets", []string{"delete"}, "the certificates and the password of the cluster that `backup drill` has made", "they are left"},
	{Editor, Namespace, "", "secrets", []string{"update"}, "the certificates that `tls rotate` makes", ""},
	{Editor, Namespace, certManager, "certificates", []string{"create", "get"}, "`tls init --issuer cert-manager/NAME`; `delete` says which of them stay", "certificates are made without cert-manager, or by others"},
	{Editor, Namespace, apps, "controllerrevisions", []string{"get"}, "showing a way back from a rollout that fails", "none is shown"},
	{Editor, Everywhere, clusters, "backups", []string{"list"}, "`upgrade --require-backup-newer-than`, for Backups in another namespace than their cluster; whether one of these names the place whose files `backup delete` deletes", "those Backups do not count, and `backup delete` warns"},
	{Editor, Everywhere, "", "persistentvolumes", []string{"list"}, "whether there are volumes of a class that does not exist", "where there are none, there is a warning in place of a refusal"},
	{Editor, Everywhere, storage, "volumeattributesclasses", []string{"get"}, "whether a VolumeAttributesClass exists that is asked for", "a missing one is found after the change is written"},
	{Editor, Everywhere, storage, "storageclasses", []string{"list"}, "naming those that exist, where the one that is asked for does not", "they are not named"},

	{Maintainer, Everywhere, "", "nodes", []string{"patch"}, "cordoning a node, and the record of its maintenance", "`maintenance` is refused"},
	{Maintainer, Everywhere, "", "pods", []string{"list"}, "which clusters have members on a node", "`maintenance start` is refused, unless -n names the only namespace to look in"},

	{Scheduler, Namespace, batch, "cronjobs", []string{"create", "delete", "get", "patch"}, "`backup schedule`", "it is refused"},
	{Scheduler, Namespace, "", "serviceaccounts", []string{"create", "delete", "get", "patch"}, "the pods of `backup schedule`", "`backup schedule` is refused"},
	{Scheduler, Namespace, access, "roles", []string{"create", "delete", "get", "patch"}, "the rights of the pods of `backup schedule`, which its user needs as well", "`backup schedule` is refused"},
	{Scheduler, Namespace, access, "rolebindings", []string{"create", "delete", "get", "patch"}, "giving the pods of `backup schedule` their rights", "`backup schedule` is refused"},

	{Installer, Everywhere, extensions, "customresourcedefinitions", []string{"create", "get", "patch", "watch"}, "init", ""},
}

// Rights returns the rights of a role, including those of the roles before it.
func Rights(role Role) []Right {
	var all []Right
	for _, r := range rights {
		if r.Role == role || role != Installer && slices.Index(Roles(), r.Role) < slices.Index(Roles(), role) {
			all = append(all, r)
		}
	}
	return all
}

// Rules returns the rights of a role in these scopes as policy rules of Kubernetes.
// Those for Namespace belong into a Role, or into a ClusterRole that is bound in
// namespaces; those for Everywhere, or for both, into a ClusterRole. There is one
// rule for each resource, sorted by name.
func Rules(role Role, scopes ...Scope) []rbacv1.PolicyRule { return rules(Rights(role), scopes) }

// Rules returns the rights that the command needs, as those of a role.
func (c Command) Rules(scopes ...Scope) []rbacv1.PolicyRule { return rules(c.Rights(), scopes) }

// RulesOf returns the rights in the namespace that several commands need.
func RulesOf(names ...string) []rbacv1.PolicyRule {
	var all []Right
	for _, name := range names {
		c, _ := CommandOf(name)
		all = append(all, c.Rights()...)
	}
	return rules(all, []Scope{Namespace})
}

func rules(rights []Right, scopes []Scope) []rbacv1.PolicyRule {
	type resource struct{ group, name string }
	verbs := map[resource][]string{}
	for _, r := range rights {
		if slices.Contains(scopes, r.Scope) {
			at := resource{r.Group, r.Resource}
			verbs[at] = append(verbs[at], r.Verbs...)
		}
	}
	var rules []rbacv1.PolicyRule
	for at, all := range verbs {
		slices.Sort(all)
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{at.group}, Resources: []string{at.name}, Verbs: slices.Compact(all),
		})
	}
	slices.SortFunc(rules, func(a, b rbacv1.PolicyRule) int {
		return cmp.Or(cmp.Compare(a.APIGroups[0], b.APIGroups[0]), cmp.Compare(a.Resources[0], b.Resources[0]))
	})
	return rules
}
