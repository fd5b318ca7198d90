// Package crd holds the CustomResourceDefinition of TidbCluster, for clusters that have none. It is generated from
// the API types by the module in gen, with "make generate" or "go generate ./pkg/edge/crd".
package crd

import (
	_ "embed"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

//go:generate go -C gen run . ../tidbclusters.json

//go:embed tidbclusters.json
var tidbClusters []byte

// TidbClusters is the definition of tidbclusters.pingcap.com. It is decoded on every call, since it has half a
// megabyte. Most runs do not need the definition, and should not be slower at their start.
//
// Apply it with server-side apply: the annotation that a client-side apply makes
// would be too big.
func TidbClusters() (*unstructured.Unstructured, error) {
	definition := &unstructured.Unstructured{}
	if err := definition.UnmarshalJSON(tidbClusters); err != nil {
		return nil, fmt.Errorf("read the embedded definition of TidbCluster: %w", err)
	}
	return definition, nil
}
