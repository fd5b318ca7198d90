// Package sim is a model of a TiDB cluster, without Kubernetes and without PD. The model is on simulated time, and the
// real engine drives it. The package tests the core under faults. Everything in it is deterministic: the same seed
// gives the same run.
//
// # What is modelled
//
// The model has these parts:
//
//   - The StatefulSet controller: Parallel and OrderedReady pod management, partitions, revisions, OnDelete, and a lag
//     before it sees a new spec. A pod that has no volume for one of the claim templates ends its turn, so that it makes
//     no pod above that pod. A pod that is not Ready is treated in both ways: Kubernetes below 1.35 replaces it.
//     Kubernetes from 1.35 on does not, and OrderedReady does not.
//   - Pods that start, crash, cannot be pulled or are refused at creation. Claims outlive their pods, and volumes take
//     their time to grow. StatefulSets are deleted without their pods and recreated around the pods.
//   - PD's etcd membership with its quorum, elections and refusals. PD does not wait for all of its first members, and
//     lets no member join that it knows already.
//   - PD's stores with heartbeats. Regions have replicas in zones and a leader each. Replicas elect the leader without
//     PD, and PD moves it over time.
//   - Placement rules: an isolation level, or copies on stores with a label. They are read only where a store is to
//     leave, as package observe does.
//   - Evict-leader schedulers of ours and of others.
//   - TiFlash stores. Their replicas vote for nothing and lead nothing, and are as many as tables ask for.
//   - TiDB servers, and our ledger.
//   - The ConfigMap from which a PD pod without data reads what to do. The kubelet shows it up to a minute late.
//
// Some runs have more:
//
//   - In one run of twenty there are more than ten stores and TiDB servers now and then. Their names do not sort as
//     their ordinals do.
//   - One in four has TiProxy. Its members keep the connections of clients for a while when their pod is deleted.
//   - One in four has TiCDC. Captures are registered in PD, and one of them is the owner, which gives the tables of
//     changefeeds to captures. Tables leave a capture that is drained one by one, and come back a while later. A
//     capture whose process was killed keeps its tables from other captures until PD drops the capture. In one of six
//     of these runs the version of TiCDC cannot drain.
//   - One in four has Pump. A Pump that is closed is offline when drainers have read what it has, and ends. In half of
//     these runs the kubelet starts the Pump again, and it is online again.
//   - One in four has TiFlash. There the user also changes how many replicas tables ask for, up to the number of the
//     stores of TiFlash, as TiDB does. In a third of these runs PD has its placement rules disabled at first, so that
//     PD refuses stores of TiFlash. In half of these a person disables the rules.
//   - In one run of eight the user asks for a first password of root, which TiKV keeps. In a third of these runs a
//     person sets a password as well.
//   - In one of four the user asks for canaries, and promotes them.
//   - In one of five there are up to three stores of another TidbCluster in the same PD (elsewhere.go). These stores
//     have replicas of regions. They are away for a while, or for so long that PD replaces their replicas. They leave
//     PD, and other stores join. On the wire, half of them are of a part whose driver restarts stores by the rules of the
//     lock that parts share, and is killed at times (otherpart.go).
//   - In one of eight, members of PD and stores of TiKV have a second volume, for logs (mounts.go). The user mounts it at
//     another path, or removes it, and asks for the replacement of all members. A change that nobody has asked that for
//     is refused, as package render does. In half of these runs pod management is often OrderedReady.
//   - In one of eight the user asks for other VolumeAttributesClasses, some of which the driver refuses (attributes.go).
//   - In one of four the user asks for new volumes of members, of several at the same time, with a spare store or without,
//     and calls that off.
//   - In one of five the StatefulSets are AdvancedStatefulSets with gaps in their ordinals (slots.go). In one of four
//     users also ask for other slots of PD, TiKV, TiFlash, TiDB and others in the course of the run, with other
//     replicas in the same write (slotchanges.go). A member in the middle leaves, or another one comes in its place.
//     Slots are taken back before their members have left, or after that, and these come back.
//   - In one of six PD lists a store now and then under an address that is the address of no pod (unlisted.go). Then it
//     is not known which member that is. That ends with the store's last region, or when another pod of the member runs.
//   - In one of six, disks of stores fill up, often of all stores that stay while a store leaves (room.go). PD
//     puts no regions onto such a store. Later the data shrinks, or the user makes volumes larger, when a gate says so.
//
// Faults:
//
//   - A step fails, before or half-way, or each time for half an hour. Or the answer to a step is lost.
//   - A person takes a store offline in PD, or back, or deletes the claim of a store that serves.
//   - PD moves nothing for a while. Or PD accepts to move leaders or regions and does not move them for a while, because
//     of what a person at pd-ctl, or an import, has set.
//   - An observation from the cache is old, as a whole or in PD's half.
//   - PD does not answer, or answers without its stores. PD forgets a scheduler. Heartbeats of a store are late.
//   - A pod crashes.
//   - A host is lost and the API shows its pods as Ready for a while.
//   - Time passes between the live observation and the act.
//   - In two runs of five a process stops for minutes to hours in the middle of a step, while another engine drives. It
//     stops before what the step reads or before its write. Its request arrives when no check asks any more, at the
//     latest in one more rollout at the end.
//   - The user changes the intent half-way, suspends components or pauses it all, for good or for some minutes.
//   - A StatefulSet is deleted and not recreated.
//   - The engine is interrupted, or killed without a chance to clean up. Or it loses its lease, and for up to a minute
//     and a half a second engine drives as well, turn by turn.
//   - A certificate is put into a Secret that the other components do not accept. Or the certificates of a component
//     expire, so that one process after the other cannot be reached, and are renewed later.
//
// A host that is lost for good, with its disk, can be switched on (Faults.LoseForGood). The pod stays Terminating until
// a person deletes it by force. With its claim no other pod can be scheduled.
//
// # Truth and reports
//
// What is true of a member is kept apart from what is reported of it (truth.go, reports.go). A member serves if its
// process runs and is past its start. Also, a PD member takes part in a quorum. A store has its data and has announced
// itself to PD. A TiDB server has a store to read from. A TiProxy takes connections, a capture of TiCDC sends changes,
// and a Pump takes binlog.
//
// Reports say whether the pod is Ready, the store is Up or the status port answers. The engine sees only reports; every
// rule is judged by the truth.
//
// Reports that are late or wrong:
//
//   - A new leader of PD knows heartbeats only as they were last saved, up to five minutes ago. So every store reads
//     Disconnected or Down until its next heartbeat. The new leader knows no schedulers for some seconds.
//   - PD's health check misses a member.
//   - Heartbeats of a store are late.
//   - The status port of a TiDB server answers with errors, or refuses connections for ever because of the template
//     (statusless).
//   - The connection to the kubelet of a host breaks, so that nothing behind it can be asked.
//   - PD's leader does not accept our certificate, while the other members do.
//   - Kubernetes gets no reports from a host on which all processes run.
//
// A pod ends for good, in a final phase (ended.go), which is reported before its process ends. The StatefulSet
// controller replaces it or not.
//
// PD is read as the client of PD reads it (voters.go): PD is known only if its leader itself can be asked. Otherwise
// each member that can be asked says whom it follows. The rules of state.Voters say what these answers prove, in an
// observation and again when a member of PD is restarted. A leader in another Kubernetes cluster is taken to be
// reachable. A process that starts while there is no quorum is taken to answer at once that it follows nobody. A real
// process does not answer before it has joined a quorum.
//
// # Clocks
//
// In one run of four the clocks of hosts are up to two and a half minutes wrong. So two clocks differ by less than
// five minutes. By these clocks kubelets report since when a process runs and a pod is Ready. By its own clock PD's
// leader dates the heartbeats of stores and calls stores Disconnected and Down. A pod's times on a host whose clock is
// behind are corrected where pods are read, so only clocks that are ahead are modelled. PD's dates are corrected by the
// clock of its leader; dates of an earlier leader may be wrong either way.
//
// # Daemons
//
// One run in five is driven by daemons, one to three replicas that take over from each other. In half of these runs
// foreground commands drive as well, some of which ask for the lease. Daemons, and those commands, go by the cluster's
// Lease: package lease as it is. Its API server is a record with a version. The Lease is renewed by hand each time that
// it is due, and by clocks that are hours apart. The turns of a daemon, and when it takes, keeps and releases a lease,
// are the real daemon.Loop.
//
// What is modelled of a daemon instead:
//
//   - Its mirror, whose Kubernetes half is a few seconds old while PD is asked each time.
//   - Its work queue, as the pauses between turns. The exponential pauses after failures are the real ones.
//   - The controller that begins a replica in the place of one that has ended.
//
// Only leases go by clocks that differ. What is decided by time goes by the clock of the API server (package clock),
// which is simulated time.
//
// Faults of daemons:
//
//   - A process is killed at any moment, also while a step of its own is under way. Or it is asked to end, or stops
//     between two turns for so long that its lease expires.
//   - The API server is away for up to a minute and a half, or refuses one request in ten. Or it does what it was asked
//     to and the answer is lost.
//   - The watches of a mirror expire, so that the mirror shows nothing new for minutes.
//   - Requests that were sent when a lease ended arrive up to three seconds later.
//   - A process that stops between its last check and the request (sleep.go) sends that request later, while another
//     engine drives. Only the preconditions of the step protect against that.
//
// # Two versions of the plugin
//
// In one of ten runs without daemons, engines are of two versions. The newer version renders another pod template of
// the same spec and records that in the ledger. It may be stopped in between.
//
// # A tidb-operator
//
// In some runs a tidb-operator drives the cluster for some minutes. Commands see it after some seconds and end; daemons
// check before each turn. The operator continues rollouts in its own way. It marks the pod of a store, creates an
// evict-leader scheduler, and moves the partition when no leader is left. It drains a capture of TiCDC, whose pod it
// marks, as long as the time for that lasts. It can stop at any moment, and cleans nothing up. It does not scale and
// does not render another pod template.
//
// # What is asserted
//
// A step is checked against the true state at two moments: when the engine last observed, and when the step is taken. A
// fact counts against the step only if it was true at both moments. No engine can know what happens in between, and
// what is repaired in between does no harm. Each of two engines has its own first moment: its last call of Observe,
// live or not. So a step that was decided on a cache that was too old counts as wrong.
//
// A member that crashes half a minute after each start does not serve, from the third time on. For failover it has
// then been down since the first crash of the row. A member is missing if it serves at neither moment, and the reports
// at the first moment did not say that it does. The reports count because for some seconds a host that was just lost
// cannot be known. A peer is another member of the same component, within its StatefulSet's replicas. The user wanted
// the peer at both moments, and the database has not removed it. Where a voter that serves is taken away, a voter that
// PD has removed and that has no replacement is a peer too.
//
// Then, at every step:
//
//   - late: a request may arrive late, from a process that has stopped before it. It changes no StatefulSet that
//     another process has changed since the step was decided, and restarts no pod of such a StatefulSet. A StatefulSet
//     that was deleted may be made, because Kubernetes knows no other precondition for that. Some rules do not judge
//     such a request: those about who drives, about limits that PD ends by itself, and about marks of suspended
//     components, for which alone nothing is deleted. In the real engine only the moment after the last check of the
//     lease is left for such a request.
//   - look: every disruptive step comes after a live observation, with no other disruptive step between the two.
//   - peer-down: while a peer is missing, no Restart of a member that serves, no RemoveMember, and no RemoveStore. Also
//     no Resize downwards of a member that the database counted on at both moments. A Resize is judged for every
//     ordinal that goes by it. To remove a member without a pod that has no claim either takes nothing away. Nor does
//     it to remove a member that PD has added and that has never started. A store elsewhere that has replicas of
//     regions may be missing. Then no store of TiKV that serves, by the truth and by all reports, is restarted or
//     removed.
//   - parts: no Restart, RemoveMember or RemoveStore of a member with data that serves while another part has the lock.
//     Another part never finds the lock free while a store is away that PD calls Up.
//   - leaders: no Restart of a store that serves and has leaders, at both moments. The exceptions: the leaders have
//     nowhere to go, or a time that somebody has set for their eviction is over, or the run is to proceed and ten
//     minutes have passed. Where PD shows that it is set to evict no leaders, only a run that is to proceed restarts
//     the store.
//   - doubtful: no Restart of a member that does not serve, onto a revision of which another member is known to be
//     unable to run.
//   - quorum: no Restart or RemoveMember that leaves PD without a majority of members alive if it has one. A PD of one
//     or two members cannot be restarted in any other way and is exempt from the rule for Restart.
//   - tombstone: no Resize downwards while PD still counts the member that goes. Also none while the member's store has
//     ever registered and is not a tombstone.
//   - wanted: no RemoveMember or RemoveStore of a wanted member, except for a member whose claim is being deleted. A
//     Resize downwards of a wanted member only if it is a TiKV that has no store. No DeleteSet of a component that the
//     user wants to run.
//   - data: no DeleteClaim of a claim that is not marked, or that a pod uses, except for the pod that goes next. No
//     DeleteClaim of a claim whose data belongs to a member that the database knows as alive. No DeletePod before its
//     claim goes, or of a member that the database knows as alive. No DeleteClaim to tidy up unless the user asks for
//     that, and does not want the member. No Restart of a member that PD counts on while its claim is being deleted,
//     which takes its data. No DeleteSet that takes data in this way.
//   - region-quorum: no Restart of a store that serves which leaves a region without most of its replicas that had
//     them, those on stores elsewhere included.
//   - copies: no RemoveStore of a store that serves which leaves fewer stores that serve than there are copies of each
//     region.
//   - places: no RemoveStore of a store that serves whose regions PD can put nowhere else, by its placement rules. No
//     RemoveStore of a TiFlash store where fewer TiFlash stores stay than a table asks for.
//   - room: no RemoveStore of a store that serves and has regions while the disks of all other stores of its component
//     are nearly full, so that PD moves nothing.
//   - tables: no Restart of a capture of TiCDC that serves, and no Resize downwards of one, while it has tables or is
//     the owner. The rule holds where another capture could take these. It does not hold when the time for that is over
//     or the version cannot drain.
//   - feeds: no Resize downwards of the last capture while changefeeds run, unless the user asks for that.
//   - binlog: no Resize downwards, and no DeleteClaim, of a Pump that is not offline. No ClosePump of the last Pump
//     that takes binlog while TiDB writes binlog.
//   - slots: no StatefulSet gets a member of an ordinal that is a slot of all components from the beginning.
//   - at-once: no more members joining by one Resize, or leaving, than the user allows, and never more than one of PD.
//   - recreate: no RecreateSet while the cluster is paused, or for no other volumes. None while a pod has yet to be
//     restarted. Replicas stay as they are, see strays.
//   - strays: no StatefulSet that is made deletes a pod that was there before it, unless the StatefulSet from before was
//     to delete that pod.
//   - bootstrap: PD is bootstrapped once. No member that has started begins again as one of the first while no member
//     is there that could refuse it.
//   - ended: no ReplaceEnded of a pod whose process runs.
//   - mounts: no Restart of a member that PD counts on gives that member other volumes than it has. Only a member that is
//     replaced gets these. No StatefulSet gets a pod template that mounts other volumes than its claim templates have.
//   - evictions: no more of our schedulers than stores may be leaving at once. A scheduler of a store that is the next
//     to restart, restarting or leaving does not count.
//   - limits: no eviction begins while PD moves more leaders at a time, or fewer, than the run asks for.
//   - reversed: no RestoreStore of a store that a person has taken offline.
//   - theirs: no scheduler that others created is removed. Placement rules that an engine has enabled are not enabled
//     again, because a person has disabled them.
//   - lease: no step by an engine that has seen that another one holds its lease.
//   - operator: no step beside a tidb-operator that has driven for a minute and a half, except to take back what is
//     temporary.
//   - drivers: with daemons, no step and no status by a process other than the one that the Lease names, when the step
//     takes effect.
//   - suspension: no DeleteSet of a component before components that need it and are to be suspended as well are gone,
//     pods and all. No DeleteSet of PD or TiKV while PD serves and has a scheduler of ours. Also none while a claim is
//     marked whose data PD counts on: while PD cannot be reached, it is not known whose data it is.
//   - paused: no step at all while the cluster is paused and the engine has observed that, except for the end of a
//     pause whose time is over. No pause ends before its time.
//   - failover: no member is given up that serves, or served less than the period ago. No member is given up with a pod
//     of the revision that is being rolled out. The exceptions: another member served with that revision when the
//     engine observed, or PD had removed the member before. A member that was given up is removed only while it does
//     not serve. Such a removal takes nothing from the others, so "peer-down" and "wanted" do not hold for it.
//     "peer-down" does not hold either between members whose volumes can be used only on nodes that were deleted.
//   - certificate: no Restart of a member that serves while the certificate in the Secret of its component is one that
//     the others do not accept. No member is given up that cannot be reached only because its certificate has expired.
//   - explained: where nothing changes for twenty minutes, at least one gate has a deadline or is blocked and says what
//     can be done.
//   - advice: each gate that needs manual action says what to do.
//   - versions: no pod template of an older version of the plugin in place of what a newer one has rendered of the same
//     spec.
//   - order: no Restart of a member that serves while a component whose rollout comes earlier still has pods to
//     replace. The rollout of TiFlash comes after PD's and before TiKV's, unless PD refuses its stores.
//   - named: no Restart apart from a rollout of a member that the user has not named. None onto another revision than
//     the member has, except with OnDelete. At the end each member that was named has another pod.
//   - canary: no Restart of a member below the canary that the user asks for. None of a component whose rollout comes
//     after that of a canary that the user has not promoted. The rule holds for members that do not serve as well.
//   - password: at the end root has a password if the user asks for a password, and that is recorded. It is the
//     password in the Secret, unless a person has set another: a person's password is never replaced.
//
// After a kill in a golden scenario a person runs "doctor --fix" (mend). No scheduler of ours and no record of such a
// scheduler is left where PD could be asked, and no disruptive step was taken. StatefulSets, claims, members of PD and
// what people have done in PD are as before.
//
// A suspended cluster has converged as well. No claim with data that counts is marked then, unless only PD could report
// whose data it is and PD could not be reached. Such a run continues: what was suspended must come back with all of its
// data and no second bootstrap.
//
// And when the faults have ended, the cluster converges within a bounded time (stuck). It is then what the user wants,
// with nothing of ours left behind (rest). No further step is taken (restless).
//
// Daemons still run then. Some minutes later no daemon holds the lease (leak), and from then on they write nothing: no
// step, no status, no Lease (idle). When they are asked to end, all of them end, and the Lease names no running
// process.
//
// Counted, as Soft:
//
//   - Stores restarted with leaders without such a time.
//   - PD leaders taken away with their leadership.
//   - Members restarted that were of the wanted revision already.
//   - PD leaders moved more often than leaders were taken away.
//   - Voters added while others were missing.
//   - Steps that came too late and changed nothing.
//   - Captures of TiCDC that ended while they had tables, by a step of ours or by a fault.
//
// The first three are violations, as "careless", if no time passed between the observation and the step.
package sim
