package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// Served is the certificate that a member shows now, or why it is not known.
type Served struct {
	Kind   topology.Kind
	Member string // the pod's name
	Leaf   *x509.Certificate
	Err    error
	// Of is what is in the Secret that it should be from.
	Of certificate.Secret
}

// Older reports whether a member shows another certificate than the one in its Secret. A kubelet takes a minute or
// two to give a changed Secret to a pod. False, false: it is not known.
func (s Served) Older() (older, known bool) {
	if s.Leaf == nil || s.Of.Leaf == nil {
		return false, false
	}
	return certificate.ID(s.Leaf) != certificate.ID(s.Of.Leaf), true
}

// ReadServed asks each member that runs which certificate it shows. A process may still have the former certificate
// of its Secret.
func ReadServed(ctx context.Context, d dial.Dialer, c topology.Cluster, snap state.Snapshot) []Served {
	if !c.TLS.Members {
		return nil
	}
	members := dial.Of(d, c)
	var found []Served
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(atOnce)
	for _, g := range c.Groups {
		port := readerOf(g.Kind).shows
		for _, m := range snap.Groups[g.Kind].Members {
			if port == 0 || !runs(&m) {
				continue
			}
			all.Go(func() error {
				ctx, cancel := context.WithTimeout(ctx, readTimeout)
				defer cancel()
				leaf, err := shown(ctx, members, net.JoinHostPort(c.PodHost(g.Kind, m.Ordinal), strconv.Itoa(port)))
				mu.Lock()
				defer mu.Unlock()
				found = append(found, Served{Kind: g.Kind, Member: m.Name, Leaf: leaf, Err: err, Of: snap.Certificates[c.MemberSecret(g.Kind)]})
				return nil
			})
		}
	}
	_ = all.Wait()
	slices.SortFunc(found, func(a, b Served) int { return strings.Compare(a.Member, b.Member) })
	return found
}

// errSeen ends a handshake as soon as the certificate is known.
var errSeen = errors.New("the certificate is known")

// shown begins a handshake, and ends it when the other side has shown its certificate. Whether that is
// valid is not asked here.
func shown(ctx context.Context, members *dial.Members, addr string) (*x509.Certificate, error) {
	conn, err := members.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	host, _, _ := net.SplitHostPort(addr)
	var leaf *x509.Certificate
	err = tls.Client(conn, &tls.Config{
		ServerName: host, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, // nothing is sent to it
		VerifyConnection: func(s tls.ConnectionState) error {
			leaf = s.PeerCertificates[0]
			return errSeen
		},
	}).HandshakeContext(ctx)
	if leaf == nil {
		return nil, err
	}
	return leaf, nil
}
