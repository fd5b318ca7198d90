// Package crd holds the CustomResourceDefinitions of TidbCluster and Backup, for clusters that have none. They are
// generated from the API types by the module in gen, with "make generate" or "go generate ./pkg/edge/crd". The
// definitions are compressed, because the program has a limit of size, and they have half a megabyte. To read one, give
// "gzip -cd pkg/edge/crd/tidbclusters.json.gz | jq".
package crd

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

//go:generate go -C gen run . ..

//go:embed tidbclusters.json.gz
var tidbClusters []byte

//go:embed backups.json.gz
var backups []byte

// TidbClusters is the definition of tidbclusters.pingcap.com. It is decoded on every call, since it has half a
// megabyte. Most runs do not need the definition, and should not be slower at their start.
//
// Apply it with server-side apply: the annotation that a client-side apply makes
// would be too big.
func TidbClusters() (*unstructured.Unstructured, error) { return decoded("TidbCluster", tidbClusters) }

// Backups is the definition of backups.pingcap.com.
func Backups() (*unstructured.Unstructured, error) { return decoded("Backup", backups) }

func decoded(kind string, compressed []byte) (*unstructured.Unstructured, error) {
	definition := &unstructured.Unstructured{}
	var text []byte
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err == nil {
		text, err = io.ReadAll(r)
	}
	if err == nil {
		err = definition.UnmarshalJSON(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read the embedded definition of %s: %w", kind, err)
	}
	return definition, nil
}
