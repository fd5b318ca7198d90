package main

// session is what is recorded as one picture.
type session struct {
	name string
	// before is run first and is not in the picture: it brings the cluster to the state that is shown.
	before string
	shown  string
	// columns and rows are those of the terminal.
	columns, rows int
}

// sessions are all pictures. They are recorded in this order, with one cluster of v8.1.0, so that
// each begins with what the ones before it have left; each begins with a new cluster where it is
// recorded alone.
var sessions = []session{
	{name: "status", columns: 88, rows: 18, shown: `
prompt kubectl tidb status basic
sleep 4`},
	{name: "plan", columns: 108, rows: 32, shown: `
prompt kubectl tidb upgrade basic v8.1.1 --dry-run
sleep 4`},
	{name: "scale", columns: 88, rows: 18, shown: `
prompt kubectl tidb scale basic tikv=4 --yes
sleep 4`},
	{name: "rollback", columns: 96, rows: 34, shown: `
prompt kubectl tidb upgrade basic v8.1.9 --yes --timeout 15s
sleep 3
prompt kubectl tidb rollback basic --yes
sleep 4`},
	{name: "doctor", columns: 96, rows: 34, before: `
kubectl tidb restart basic tikv --yes -o json > events &
until grep '"type":"finished"' events | grep -q '"action":"EvictLeaders"'; do sleep 0.1; done
kill -9 $!`, shown: `
prompt kubectl tidb doctor basic
sleep 4
prompt kubectl tidb doctor basic --fix --yes
sleep 4`},
	{name: "failover", columns: 96, rows: 30, before: `
kubectl tidb sync basic --yes
kubectl delete pvc pd-basic-pd-1 --wait=false
kubectl delete pod basic-pd-1 --grace-period=0 --force
until kubectl tidb failover basic | grep -q basic-pd-1; do sleep 1; done`, shown: `
prompt kubectl tidb failover basic
sleep 4
prompt kubectl tidb failover basic run --component pd --now --yes
sleep 4`},
	{name: "upgrade", columns: 96, rows: 24, shown: `
prompt kubectl tidb upgrade basic v8.1.1 --yes
sleep 2
prompt kubectl tidb status basic
sleep 4`},
}
