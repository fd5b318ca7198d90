package upgrade

const long = `Take a cluster to another version, one member at a time: PD first, then TiProxy,
TiFlash, TiKV and TiDB. PD's leader moves away from a member before it restarts, and
region leaders from a store. Nothing is restarted while a peer is down. Stores whose
disks are nearly full are named before.

A lower version is refused: data may be in a format that it cannot read. Only an
upgrade whose new version has not run anywhere yet, since its image does not exist or
its pods find no node, can be taken back to the version that it came from.

With --canary it restarts only some members of one component, and stops: "promote" goes
on, and "abort" takes the upgrade back where that is possible.

With --require-backup-newer-than it does not begin without a Backup of tidb-operator that
is complete, has the whole cluster, and data that is new enough: its commitTs counts,
since a backup that takes hours has the data of its begin. A log backup does not count,
nor one by Dumpling, which names no cluster. --require-drilled-backup-newer-than also
requires that "backup drill" has restored it and found all rows. An upgrade that has
begun goes on.

Releases of TiProxy have numbers of their own: it keeps its version unless
--tiproxy-version has another one.

With --all it takes all clusters of the namespace there, or those that -l, -A and
--contexts say. All are checked before anything is changed, and one that is refused, or
a context that does not answer, refuses all. Clusters are upgraded in waves, by default
one cluster and then the others, in the order of contexts, namespaces and names. If a
cluster fails, the others of its wave go on, and no later wave begins. The same command
goes on; clusters that are done have nothing to do then.

VERSION is a release written in full, such as v8.1.1 or v8.1.1-custom, or nightly or
latest. A cluster whose version is none of these has images with tags of its own, and
takes any tag.`

const example = `  kubectl tidb upgrade basic v8.1.1

  # See what it would take
  kubectl tidb upgrade basic v8.1.1 --dry-run

  # One store first; watch it, and go on with "promote"
  kubectl tidb upgrade basic v8.1.1 --canary tikv=1

  # Only with a full backup of the last 24 hours
  kubectl tidb upgrade basic v8.1.1 --require-backup-newer-than 24h

  # In a pipeline: give up waiting before the job is killed
  kubectl tidb upgrade basic v8.1.1 --timeout 50m

  # In a pipeline, a cluster with one member of PD: without a question
  kubectl tidb upgrade basic v8.1.1 --yes

  # A fleet: one cluster, then a tenth of them, then all
  kubectl tidb upgrade --all v8.1.1 -A -l tier=dev --wave 1,10%,100% --dry-run
  kubectl tidb upgrade --all v8.1.1 -A --contexts 'prod-*' --wave 1,10%,100% --yes`
