package factory

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// TestDialer: without the flag, pods are connected to directly in the cluster, and through the API
// server elsewhere.
func TestDialer(t *testing.T) {
	for _, c := range []struct {
		name, args string
		in         bool
		direct     bool
	}{
		{"laptop", "", false, false},
		{"pod", "", true, true},
		{"auto on a laptop", "--dial=auto", false, false},
		{"auto in a pod", "--dial auto", true, true},
		{"pod behind a network policy", "--dial=port-forward", true, false},
		{"laptop with a route", "--dial=direct", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := home(t, "")
			cmd := &cobra.Command{}
			f.BindDial(cmd)
			if err := cmd.ParseFlags(strings.Fields(c.args)); err != nil {
				t.Fatal(err)
			}
			f.config = func() (*rest.Config, error) {
				config := &rest.Config{Host: "https://k.example:6443"}
				if c.in {
					config.BearerToken, config.BearerTokenFile = "secret", serviceAccount
				}
				return config, nil
			}
			d, err := f.Dialer()
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if _, direct := d.(*dial.Direct); direct != c.direct {
				t.Errorf("got a %T", d)
			}
		})
	}
}

func TestDialFlag(t *testing.T) {
	f := home(t, "")
	cmd := &cobra.Command{}
	f.BindDial(cmd)
	if err := cmd.ParseFlags([]string{"--dial=dns"}); err == nil || !strings.Contains(err.Error(), "auto, direct, port-forward") {
		t.Errorf("%v", err)
	}
}
