package drive

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// There is a warning with the name of a field of a later version of TidbCluster.
func TestUnknownFields(t *testing.T) {
	tc := &v1alpha1.TidbCluster{}
	if got := (Request{Change: intent.Change{Now: tc}}).unknownFields(); got != nil {
		t.Errorf("all are known: %q", got)
	}
	topology.SetUnknown(tc, []string{"spec.tikv.later"})
	if got := (Request{Change: intent.Change{Now: tc}}).unknownFields(); len(got) != 1 || !strings.Contains(got[0].text, "does not know spec.tikv.later:") {
		t.Errorf("got %q", got)
	}
	if got := (Request{}).unknownFields(); got != nil {
		t.Errorf("for a cluster that is to be created: %q", got)
	}
}
