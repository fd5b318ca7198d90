package target

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// CheckVersion finds what cannot be the tag of a TiDB image before a pod does.
// The old version, "" for none, tells whether the cluster's images come from a
// place with names of its own.
func CheckVersion(version, old string) error {
	if _, err := topology.ParseVersion(version); err != nil {
		return err
	}
	if !strings.HasPrefix(version, "v") && (old == "" || strings.HasPrefix(old, "v")) {
		return fmt.Errorf("there is no image of version %q; did you mean v%s?", version, version)
	}
	return nil
}
