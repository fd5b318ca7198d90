package main

import (
	"fmt"
	"strings"
	"time"
)

// cluster is the name of the TidbCluster that is measured.
const cluster = "basic"

// operation is what is measured: of the plugin by its arguments, of a second driver by what the
// cluster has to be like afterwards.
type operation struct {
	name string
	args []string
	// word, version and tikv are what a second driver is told.
	word, version string
	tikv          int
	aim           time.Duration // what it is meant to take
	// floor returns what the operation takes at least, by what was measured without the plugin; nil
	// where that says nothing about it.
	floor func(floors) time.Duration
	// processor is how much processor time it is meant to take; 0 for any.
	processor time.Duration
}

var operations = []operation{
	{name: "create 3 PD, 3 TiKV, 2 TiDB", aim: 15 * time.Second, word: "create", version: "v8.1.0", tikv: 3,
		args: []string{"create", cluster, "--version", "v8.1.0", "--storage", "1Gi"}},
	{name: "TiKV 3 to 4", aim: 5 * time.Second, word: "scale-out", version: "v8.1.0", tikv: 4, floor: oneStore,
		args: []string{"scale", cluster, "tikv=4"}},
	{name: "TiKV 4 to 3", aim: 5 * time.Second, word: "scale-in", version: "v8.1.0", tikv: 3, floor: removedStore,
		args: []string{"scale", cluster, "tikv=3"}},
	{name: "upgrade under writes", aim: 40 * time.Second, word: "upgrade", version: "v8.1.1", tikv: 3, floor: allPods,
		args: []string{"upgrade", cluster, "v8.1.1"}, processor: 3 * time.Second},
}

// takenOver are the operations on a cluster that is like one of tidb-operator.
var takenOver = []operation{
	{name: "upgrade of a cluster that was taken over", aim: 70 * time.Second, floor: allPods, args: []string{"upgrade", cluster, "v8.1.1"}},
}

// placeholders are those that a second driver's command line may have.
const placeholders = "{namespace} {cluster} {operation} {version} {tikv}"

// command returns the command line by which a second driver carries the operation out.
func (o operation) command(line, namespace string) string {
	return strings.NewReplacer(
		"{namespace}", namespace,
		"{cluster}", cluster,
		"{operation}", o.word,
		"{version}", o.version,
		"{tikv}", fmt.Sprint(o.tikv),
	).Replace(line)
}
