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
	bar           time.Duration // the time that it may take
	// floor returns what the operation takes at least, by the restarts of pods without the plugin;
	// nil where they say nothing about it.
	floor func([]restarts) time.Duration
}

var operations = []operation{
	{name: "create 3 PD, 3 TiKV, 2 TiDB", bar: 35 * time.Second, word: "create", version: "v8.1.0", tikv: 3,
		args: []string{"create", cluster, "--version", "v8.1.0", "--storage", "1Gi"}},
	{name: "TiKV 3 to 4", bar: 12 * time.Second, word: "scale-out", version: "v8.1.0", tikv: 4, floor: oneStore,
		args: []string{"scale", cluster, "tikv=4"}},
	{name: "TiKV 4 to 3", bar: 10 * time.Second, word: "scale-in", version: "v8.1.0", tikv: 3,
		args: []string{"scale", cluster, "tikv=3"}},
	{name: "upgrade under writes", bar: 110 * time.Second, word: "upgrade", version: "v8.1.1", tikv: 3, floor: allPods,
		args: []string{"upgrade", cluster, "v8.1.1"}},
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
