package render

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// FuzzWant: a valid TidbCluster can be rendered. Otherwise a run would write the TidbCluster, and
// could not continue.
func FuzzWant(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, spec := range []string{
		"tidb: {replicas: 1, separateSlowLog: true, slowLogVolumeName: a, storageVolumes: [{name: a, storageSize: 1Gi}]}",
		"tidb: {replicas: 1, additionalContainers: [{name: tidb, image: a}]}",
		"tidb: {replicas: 1, initContainers: [{name: init}], config: \"security = 1\"}",
		"tikv: {replicas: 1, requests: {storage: 1Gi}, separateRaftLog: true, raftLogVolumeName: tikv}",
	} {
		f.Add([]byte("metadata: {name: a}\nspec:\n  version: v8.1.0\n  pd: {replicas: 1, requests: {storage: 1Gi}}\n  " + spec))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tc := &v1alpha1.TidbCluster{}
		if yaml.Unmarshal(data, tc) != nil || len(topology.Validate(topology.New(tc))) > 0 {
			return
		}
		_, err := Want(state.Observation{Cluster: topology.New(tc)})
		var refused *RefusedError
		if err != nil && !errors.As(err, &refused) {
			t.Error(err)
		}
	})
}
