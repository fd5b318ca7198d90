package rbac

import (
	"slices"
	"strings"
)

// Command is a verb of the plugin, with the requests that it may send.
type Command struct {
	Name string
	Role Role
	// only are the requests of a command that needs few of its role's, as "group/resource verb";
	// nil: all but those in except.
	only, except []string
}

// commands are all verbs that need rights.
var commands = []Command{
	{Name: "list", Role: Viewer, only: []string{"pingcap.com/tidbclusters list", "pingcap.com/tidbclusters watch", "/namespaces list"}},
	{Name: "status", Role: Viewer, except: shows},
	{Name: "plan", Role: Viewer, except: looksOnly}, // with -f it needs those of apply
	{Name: "why", Role: Viewer, except: shows},
	{Name: "wait", Role: Viewer, except: looksOnly},
	{Name: "logs", Role: Viewer, only: []string{
		"pingcap.com/tidbclusters get", "pingcap.com/tidbclusters list", "/pods list", readsLogs, "/namespaces list",
	}},
	{Name: "events", Role: Viewer, only: []string{
		"pingcap.com/tidbclusters get", "pingcap.com/tidbclusters list", readsEvents, watchesEvents, "/namespaces list",
	}},
	{Name: "sql", Role: Viewer, only: asksMembers},
	{Name: "dashboard", Role: Viewer, only: asksMembers},
	{Name: "config get", Role: Viewer, only: asksMembers},
	{Name: "config diff", Role: Viewer, only: asksMembers},
	{Name: "pvc list", Role: Viewer, except: looksOnly},
	// Claims are deleted under the lease of the cluster.
	{Name: "pvc prune", Role: Driver, only: slices.Concat([]string{
		"/persistentvolumeclaims delete", "coordination.k8s.io/leases create", "coordination.k8s.io/leases update",
		"pingcap.com/tidbclusters/finalizers update",
	}, reads)},
	{Name: "report", Role: Viewer, except: []string{watchesEvents}},
	{Name: "failover", Role: Viewer, except: looksOnly},
	// With --fix it changes what is recorded and marked, and schedulers in PD; without it no right to write is used.
	{Name: "doctor", Role: Driver, except: []string{
		readsLogs, watchesEvents, makesSecrets, "apps/statefulsets create", "apps/statefulsets delete", "apps/statefulsets update",
		"apps.pingcap.com/statefulsets create", "apps.pingcap.com/statefulsets delete", "apps.pingcap.com/statefulsets update",
		"/pods delete", "/persistentvolumeclaims delete", "/services create", "/services update", "/services watch", "/configmaps create",
		"/configmaps watch", "/events create", "/events patch", "/persistentvolumes patch", "apps/deployments list", "apps/deployments watch",
	}},
	{Name: "sync", Role: Driver, except: shows},
	{Name: "failover run", Role: Editor, except: whenChanging},
	{Name: "scale", Role: Editor, except: whenChanging},
	{Name: "upgrade", Role: Editor, except: slices.Concat([]string{creates, deletes}, rare)},
	{Name: "promote", Role: Editor, except: whenChanging},
	{Name: "replace", Role: Editor, except: whenChanging},
	{Name: "restart", Role: Editor, except: whenChanging},
	{Name: "config set", Role: Editor, except: whenChanging},
	{Name: "rollback", Role: Editor, except: whenChanging},
	{Name: "abort", Role: Editor, except: whenChanging},
	{Name: "create", Role: Editor, except: slices.Concat([]string{deletes}, seldom)},
	{Name: "edit", Role: Editor, except: whenChanging},
	{Name: "apply", Role: Editor, except: slices.Concat([]string{deletes}, seldom)},
	{Name: "delete", Role: Editor, only: []string{
		"pingcap.com/tidbclusters get", "pingcap.com/tidbclusters list", "pingcap.com/tidbclusters watch", deletes,
		"apps/statefulsets get", "apps/statefulsets list", "apps/statefulsets watch", "apps/statefulsets delete",
		"apps.pingcap.com/statefulsets get", "apps.pingcap.com/statefulsets list", "apps.pingcap.com/statefulsets delete",
		"/pods list", "/pods watch",
		"/persistentvolumeclaims list", "/persistentvolumeclaims watch", "/persistentvolumeclaims delete",
		// The TiDB servers end first, under the lease of the cluster, if no operator drives it.
		"coordination.k8s.io/leases get", "coordination.k8s.io/leases list", "coordination.k8s.io/leases create", "coordination.k8s.io/leases update",
		"pingcap.com/tidbclusters/finalizers update",
		"apps/deployments get", "rbac.authorization.k8s.io/clusterrolebindings list", "rbac.authorization.k8s.io/rolebindings list",
		"/secrets get", readsIssued, // to say which certificates stay
		// What a run has begun in PD is taken back before, and the ledger is read afterwards.
		"/pods get", "/pods/portforward create", "/pods/portforward get", "/services list", readsEvents,
		"/configmaps get", "/configmaps list", "/configmaps patch",
		"/namespaces list",
	}},
	{Name: "transfer-leader", Role: Viewer, except: looksOnly},
	{Name: "evict-leader", Role: Viewer, except: looksOnly},
	{Name: "maintenance start", Role: Maintainer, only: slices.Concat(looks, []string{
		readsNodes, listsNodes, "/nodes patch", "/namespaces list", "coordination.k8s.io/leases create", "coordination.k8s.io/leases update",
		"pingcap.com/tidbclusters/finalizers update", marksClusters,
		"rbac.authorization.k8s.io/clusterrolebindings list", "rbac.authorization.k8s.io/rolebindings list", // a tidb-operator is noticed
	})},
	{Name: "maintenance stop", Role: Maintainer, only: slices.Concat(looks, []string{readsNodes, "/nodes patch", "/namespaces list", marksClusters})},
	{Name: "maintenance list", Role: Maintainer, only: []string{listsNodes, "pingcap.com/tidbclusters list", "/namespaces list"}},
	{Name: "pause", Role: Editor, only: slices.Concat(pauses, []string{"/configmaps get"})},
	{Name: "resume", Role: Editor, only: pauses},
	{Name: "tls check", Role: Viewer, except: looksOnly},
	{Name: "tls init", Role: Editor, only: []string{
		"pingcap.com/tidbclusters get", "pingcap.com/tidbclusters list", "/namespaces list",
		"/secrets get", makesSecrets, asksIssuers, readsIssued,
	}},
	{Name: "tls rotate", Role: Editor, except: slices.Concat([]string{
		creates, deletes, readsBackups, makesBackups, deletesBackups, makesJobs, "batch/jobs get", "batch/jobs delete", deletesSecrets, asksIssuers, readsIssued,
	}, shows)},
	// Its pods are BR's, which needs no right in Kubernetes. PD is observed, so that no backup waits for it without an end.
	{Name: "backup create", Role: Editor, only: createsBackups},
	// It also records PD's settings in the TidbCluster.
	{Name: "restore", Role: Editor, only: slices.Concat(observes, []string{
		"/namespaces list", readsLogs, readsBackups, makesJobs, "batch/jobs get", "batch/jobs delete", "batch/jobs patch",
		"pingcap.com/tidbclusters patch", "pingcap.com/tidbclusters/finalizers update",
	})},
	{Name: "backup list", Role: Editor, only: []string{readsBackups, "pingcap.com/tidbclusters get", "pingcap.com/tidbclusters list", "/namespaces list"}},
	{Name: "backup show", Role: Editor, only: []string{readsBackups, "/namespaces list"}},
	{Name: "backup log status", Role: Viewer, except: looksOnly},
	{Name: "backup verify", Role: Editor, only: []string{
		"pingcap.com/tidbclusters get", "pingcap.com/tidbclusters list", "/namespaces list", "/secrets get", "/pods list", readsEvents, readsLogs,
		readsBackups, marksBackups, makesJobs, "batch/jobs get", "batch/jobs delete", "pingcap.com/tidbclusters/finalizers update",
	}},
	{Name: "backup delete", Role: Editor, only: deletesFiles},
	{Name: "backup prune", Role: Editor, only: deletesFiles},
	// The API server lets nobody grant rights that they do not have. So the rights of the pods are here as well.
	{Name: "backup schedule", Role: Scheduler, only: slices.Concat(schedules, createsBackups, deletesFiles)},
	// It makes a cluster, restores data there, and deletes the cluster.
	{Name: "backup drill", Role: Editor, except: []string{makesBackups, deletesBackups, writesSecrets, asksIssuers, watchesEvents}},
	{Name: "init", Role: Installer},
}

const (
	creates      = "pingcap.com/tidbclusters create"
	deletes      = "pingcap.com/tidbclusters delete"
	makesSecrets = "/secrets create"
	// Only "backup drill" deletes what it has made.
	deletesSecrets = "/secrets delete"
	// Drivers read in the TidbCluster that a node is under maintenance.
	marksClusters = "pingcap.com/tidbclusters patch"
	// What only the verbs about certificates need.
	writesSecrets = "/secrets update"
	asksIssuers   = "cert-manager.io/certificates create"
	readsIssued   = "cert-manager.io/certificates get"
	// Only an upgrade with a flag asks for Backups.
	readsBackups = "pingcap.com/backups list"
	// Only "backup create" makes these.
	makesBackups = "pingcap.com/backups create"
	marksBackups = "pingcap.com/backups patch"
	// Only "backup delete" and "backup prune" delete these.
	deletesBackups = "pingcap.com/backups delete"
	makesJobs      = "batch/jobs create"
	readsLogs      = "/pods/log get"
	readsEvents    = "/events list"
	watchesEvents  = "/events watch"
	listsSchedules = "batch/cronjobs list"
	readsNodes     = "/nodes get"
	// Where a pod waits for a node, its volume and the node of that volume are looked for.
	listsNodes   = "/nodes list"
	readsVolumes = "/persistentvolumes get"
)

// connects are the requests that find a cluster, and connect to its members.
var connects = []string{
	"pingcap.com/tidbclusters get", "pingcap.com/tidbclusters list", "/pods get", "/pods list",
	"/pods/portforward create", "/pods/portforward get", "/secrets get",
}

// asksMembers are the requests of verbs that ask members, and change nothing in Kubernetes.
var asksMembers = slices.Concat(connects, []string{"/namespaces list"})

// observes are the requests that observe a cluster once.
var observes = slices.Concat(connects, []string{
	"apps/statefulsets list", "apps.pingcap.com/statefulsets list", "apps/deployments get", "/persistentvolumeclaims list",
	"/services list", "/configmaps get", "/configmaps list", readsVolumes, listsNodes,
	"coordination.k8s.io/leases get", "coordination.k8s.io/leases list", readsEvents,
})

// reads are the requests of a verb that looks at one cluster.
var reads = slices.Concat(observes, []string{
	"/namespaces list", "rbac.authorization.k8s.io/clusterrolebindings list", "rbac.authorization.k8s.io/rolebindings list",
})

// looks are the requests that observe a cluster until something has happened.
var looks = slices.Concat(observes, []string{
	"pingcap.com/tidbclusters watch", "apps/statefulsets watch", "apps.pingcap.com/statefulsets watch", "/pods watch", "/persistentvolumeclaims watch",
})

// pauses are the requests of verbs that change the TidbCluster, and nothing else.
var pauses = []string{"pingcap.com/tidbclusters get", "pingcap.com/tidbclusters list", "pingcap.com/tidbclusters patch", "/namespaces list"}

// createsBackups are the requests of "backup create".
var createsBackups = slices.Concat(observes, []string{
	"/namespaces list", readsLogs, readsBackups, makesBackups, makesJobs, "batch/jobs get", "batch/jobs delete",
	"pingcap.com/tidbclusters/finalizers update",
})

// schedules are the requests that only "backup schedule" sends.
var schedules = []string{
	"batch/cronjobs create", "batch/cronjobs delete", "batch/cronjobs get", "batch/cronjobs list", "batch/cronjobs patch",
	"/serviceaccounts create", "/serviceaccounts delete", "/serviceaccounts get", "/serviceaccounts patch",
	"rbac.authorization.k8s.io/roles create", "rbac.authorization.k8s.io/roles delete", "rbac.authorization.k8s.io/roles get", "rbac.authorization.k8s.io/roles patch",
	"rbac.authorization.k8s.io/rolebindings create", "rbac.authorization.k8s.io/rolebindings delete", "rbac.authorization.k8s.io/rolebindings get", "rbac.authorization.k8s.io/rolebindings patch",
}

// deletesFiles are the requests of verbs that delete Backups and their files.
var deletesFiles = []string{
	"pingcap.com/tidbclusters get", "pingcap.com/tidbclusters list", "/namespaces list", "/secrets get", "/pods list", readsEvents, readsLogs,
	readsBackups, marksBackups, deletesBackups, makesJobs, "batch/jobs get", "batch/jobs delete", "pingcap.com/tidbclusters/finalizers update",
}

// rare are the requests that most verbs do not send, and seldom those that an upgrade may send as well.
var (
	rare   = slices.Concat([]string{writesSecrets, deletesSecrets, asksIssuers, readsIssued, makesBackups, deletesBackups, makesJobs, "batch/jobs get", "batch/jobs delete"}, shows)
	seldom = slices.Concat([]string{readsBackups}, rare)
)

// whenChanging are the requests that a verb that changes a cluster which exists does not send.
var whenChanging = slices.Concat([]string{creates, deletes}, seldom)

// shows are the requests that only the verbs send that show logs, follow events, and look at schedules of backups.
var shows = []string{readsLogs, watchesEvents, listsSchedules}

// looksOnly are the requests of a viewer that only status, and the verbs that show logs and events, send.
var looksOnly = slices.Concat([]string{readsNodes}, shows)

// Commands returns all verbs that need rights.
func Commands() []Command { return slices.Clone(commands) }

// CommandOf returns a verb, "failover run" among them.
func CommandOf(name string) (Command, bool) {
	i := slices.IndexFunc(commands, func(c Command) bool { return c.Name == name })
	if i < 0 {
		return Command{}, false
	}
	return commands[i], true
}

// Rights returns the rights that the command needs, and no others.
func (c Command) Rights() []Right {
	var all []Right
	for _, r := range Rights(c.Role) {
		r.Verbs = slices.DeleteFunc(slices.Clone(r.Verbs), func(verb string) bool { return !c.sends(r.request(verb)) })
		if len(r.Verbs) > 0 {
			all = append(all, r)
		}
	}
	return all
}

func (c Command) sends(request string) bool {
	if c.only != nil {
		return slices.Contains(c.only, request)
	}
	return !slices.Contains(c.except, request)
}

// request names a request, as "group/resource verb".
func (r Right) request(verb string) string {
	return strings.Join([]string{r.Group, "/", r.Resource, " ", verb}, "")
}
