// Command coredns answers the names of the node's services and pods.
package main

import (
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/rewrite"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func init() {
	// A plugin runs only if it is named here, and in this order: a rewritten name must reach kubernetes, not errors.
	dnsserver.Directives = []string{"bind", "reload", "ready", "errors", "cache", "rewrite", "kubernetes", "forward"}
}

func main() { coremain.Run() }
