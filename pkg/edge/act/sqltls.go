package act

import (
	"context"
	"crypto/tls"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
)

// sqlTLS returns how an SQL client connects to a TiDB server, nil for without TLS. The client trusts the authorities
// in the Secrets of TiDB and of its clients, or the system's authorities where the Secrets have none. It shows the
// certificate of clients where there is one.
func (a *Actor) sqlTLS(ctx context.Context, host string) (*tls.Config, error) {
	own, err := tidb.ReadCredentials(ctx, a.kube, a.cluster)
	if err != nil {
		return nil, failed("read", "certificates of SQL clients", err)
	}
	return own.Config(host)
}
