package topology_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestConfidential(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "DB_PASSWORD": true, "passwd": true, "key-passphrase": true, "secret-key": true, "auth-token": true,
		"credentials": true, "private-key": true, "access-key": true, "AWS_ACCESS_KEY_ID": true, "accessKey": true,
		"log-level": false, "key-path": false, "replicas": false,
	} {
		if got := topology.Confidential(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
