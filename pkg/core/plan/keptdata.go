package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// downgrade holds a StatefulSet back whose pods would start a version on data that a higher version
// has run on. A user who deletes a cluster and creates it with the same name gets the old data. A
// lower version may not be able to read that data.
func (sc Scope) downgrade() verdict {
	for _, d := range sc.KeptData() {
		if d.Newer() {
			return wait(Gate{
				Component: sc.Want.Kind, Blocked: true,
				Reason: VersionReadsData, Want: fmt.Sprintf("version %s or higher", d.Ran),
				Observed: fmt.Sprintf("%s requested, and %s has run on %s", d.Wanted, d.Ran, d.Some()),
				Remedy: remedy.Remedy{
					remedy.Run("go on with the data", sc.Cluster.Plugin("upgrade", d.Ran)),
					remedy.Run("delete the cluster and its data, then create it with empty volumes", sc.Cluster.Plugin("delete", "--delete-pvcs")),
				},
			})
		}
	}
	return verdict{}
}
