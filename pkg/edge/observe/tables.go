package observe

import (
	"context"
	"strconv"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// tiflashGroup is the group of placement rules by which TiDB has PD copy tables to TiFlash.
const tiflashGroup = "tiflash"

// namedTables is how many tables of a rule get their names. TiDB is asked for each of them.
const namedTables = 3

// tableOf returns the table that a placement rule is for, by the rule's name, e.g. "table-104-r".
func tableOf(group, id string) []state.Table {
	text, ok := strings.CutPrefix(id, "table-")
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "-r"), 10, 64)
	if group != tiflashGroup || !ok || err != nil {
		return nil
	}
	return []state.Table{{ID: n}}
}

// nameTables fills in the names of the first few tables of each rule, as a running TiDB server knows them. A name
// that cannot be read stays empty.
func (o *Observer) nameTables(ctx context.Context, c topology.Cluster, seen objects, sets [][]state.PlacementRule) {
	host := ""
	for n, pod := range seen.pods[topology.TiDB] {
		if p := podState(topology.TiDB, pod); p.Ready && !p.Terminating {
			host = c.PodHost(topology.TiDB, n)
		}
	}
	for _, set := range sets {
		for _, r := range set {
			for i := range r.Tables[:min(len(r.Tables), namedTables)] {
				if host != "" && r.Tables[i].Name == "" && ctx.Err() == nil {
					r.Tables[i].Name, _ = o.tidb.TableName(ctx, host, r.Tables[i].ID)
				}
			}
		}
	}
}
