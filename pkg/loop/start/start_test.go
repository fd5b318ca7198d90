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

// TestInvalidEngine: an engine changes nothing for a TidbCluster that is not valid any more, for example because a part
// of it was added that is not supported.
func TestInvalidEngine(t *testing.T) {
	for spec, valid := range map[string]bool{
		`{version: v8.1.0, pd: {replicas: 1, baseImage: pingcap/pd, requests: {storage: 1Gi}}}`:                     true,
		`{version: v8.1.0, pd: {replicas: 1, baseImage: pingcap/pd, requests: {storage: 1Gi}}, recoveryMode: true}`: false,
		`{version: v8.1.0, pd: {replicas: -1, baseImage: pingcap/pd, requests: {storage: 1Gi}}}`:                    false,
	} {
		tc := &v1alpha1.TidbCluster{}
		if err := yaml.Unmarshal([]byte(`{metadata: {name: basic, namespace: db}, spec: `+spec+`}`), tc); err != nil {
			t.Fatal(err)
		}
		var e reconcile.Engine
		Connections{}.Follow(&e, plan.Policy{}, nil, 1)
		_, err := e.Want(state.Observation{Cluster: topology.New(tc)})
		if _, refused := errors.AsType[*render.RefusedError](err); refused == valid {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
