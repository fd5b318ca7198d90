package start

import (
	"errors"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// TestRestrictedEngine: an engine refuses what --restricted refuses before it decides anything, and only with it.
func TestRestrictedEngine(t *testing.T) {
	tc := &v1alpha1.TidbCluster{}
	if err := yaml.Unmarshal([]byte(`{metadata: {name: basic, namespace: db}, spec: {version: v8.1.0,
pd: {replicas: 1, baseImage: pingcap/pd, requests: {storage: 1Gi}, hostNetwork: true}}}`), tc); err != nil {
		t.Fatal(err)
	}
	for _, restricted := range []bool{false, true} {
		var e reconcile.Engine
		Connections{Restricted: restricted}.Follow(&e, plan.Policy{}, nil, 1)
		_, err := e.Want(state.Observation{Cluster: topology.New(tc)})
		if _, refused := errors.AsType[*render.RefusedError](err); refused != restricted {
			t.Errorf("restricted %v: %v", restricted, err)
		}
	}
}
