package tls

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
)

// TestTaken: after the Secrets are renewed, an observation that fails ends nothing: it is tried again until members
// show the new certificates, or the time is over. Then the error says what could not be seen, or who is late.
func TestTaken(t *testing.T) {
	down := errors.New("the API server does not answer")
	cert := func(serial string) *x509.Certificate { return &x509.Certificate{Raw: []byte(serial)} }
	shows := func(serial string) []observe.Served {
		return []observe.Served{{Member: "basic-pd-0", Leaf: cert(serial), Of: certificate.Secret{Leaf: cert("new")}}}
	}
	for name, c := range map[string]struct {
		served func(looks int) ([]observe.Served, error)
		code   exit.Code
		says   string
		log    string
	}{
		"some observations fail": {func(n int) ([]observe.Served, error) {
			switch {
			case n%2 == 1:
				return nil, down
			case n < 6:
				return shows("old"), nil
			}
			return shows("new"), nil
		}, exit.OK, "", "Waiting for members to show the new certificate: basic-pd-0\n"},
		"all observations fail": {func(int) ([]observe.Served, error) { return nil, down }, exit.TimedOut,
			"the Secrets are renewed, but it could not be seen within 1m0s whether all members show the new certificates: " + down.Error(), ""},
		"a member is late": {func(int) ([]observe.Served, error) { return shows("old"), nil }, exit.TimedOut,
			"these members do not show the new certificate after 1m0s: basic-pd-0", "Waiting for members to show the new certificate: basic-pd-0\n"},
		"a member cannot be asked": {func(int) ([]observe.Served, error) { return []observe.Served{{Member: "basic-pd-0", Err: down}}, nil }, exit.TimedOut,
			"these members do not show", "Waiting for members to show the new certificate: basic-pd-0\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			looks := 0
			err := taken(t.Context(), &log, topology.Cluster{Namespace: "db", Name: "basic"}, time.Minute, func(context.Context) ([]observe.Served, error) {
				looks++
				return c.served(looks)
			})
			if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) || log.String() != c.log {
				t.Errorf("%s: %v; %q after %d observations", name, err, log.String(), looks)
			}
		})
	}
}
