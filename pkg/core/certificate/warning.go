package certificate

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Warning is what a person should know about a certificate that can be used now.
type Warning struct {
	topology.Certificate
	About  About
	Text   string
	Remedy remedy.Remedy
}

// About is what a warning is about.
type About int

// What warnings are about.
const (
	End          About = iota // the certificate ends soon
	AuthorityEnd              // what has signed it ends soon
	ServiceNames              // SQL clients that verify the name of the server may not accept it
)

// Warnings returns what a person should know about the certificates of a cluster. An authority that ends is
// named once, for the first of those that it has signed.
func Warnings(c topology.Cluster, read map[string]Secret, at time.Time) []Warning {
	rotate := func(text string, flags ...string) remedy.Remedy {
		return remedy.Remedy{remedy.Run(text+", if kubectl tidb tls init has made it",
			remedy.Plugin(c.Namespace, append([]string{"tls", "rotate", c.Name}, flags...)...))}
	}
	var all []Warning
	named := map[string]bool{}
	for _, w := range topology.Certificates(c) {
		s, ok := read[w.Secret]
		if !ok || !s.Usable() {
			continue
		}
		signer := s.Signer(at)
		lasts := signer == nil || signer.NotAfter.After(s.Leaf.NotAfter)
		if s.EndsSoon(at) && lasts { // else another one of the same authority would end with it
			all = append(all, Warning{w, End, fmt.Sprintf("the certificate in Secret %s %s", s.Name, ends(s.Leaf, at)), rotate("have a new one issued")})
		}
		if signer != nil && signer.NotAfter.Sub(at) < Soon && !named[ID(signer)] {
			named[ID(signer)] = true
			all = append(all, Warning{w, AuthorityEnd, fmt.Sprintf("the authority %s in %s of Secret %s %s: what it has signed is not accepted after that",
				subject(signer), s.keyOf(signer), s.Name, ends(signer, at)), rotate("have a new one made", "--ca")})
		}
		for _, names := range w.Services {
			if len(notCovered(s.Leaf, names)) == len(names) {
				all = append(all, Warning{w, ServiceNames, fmt.Sprintf("the certificate %s in Secret %s has no name of Service %s, such as %s: SQL clients that verify the name do not accept it",
					subject(s.Leaf), s.Name, names[0], names[2]), rotate("have a new one issued")})
			}
		}
	}
	return all
}

// Signer returns the certificate that must be valid so that this one is accepted. A chain ends with the
// first of its signers that ends. Where several chains are possible, Signer takes the chain that lasts
// longest. It is nil where the Secret has no authority of the certificate.
func (s Secret) Signer(at time.Time) *x509.Certificate {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range s.Authorities {
		roots.AddCert(c)
	}
	for _, c := range s.Chain {
		between.AddCert(c)
	}
	chains, err := s.Leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return nil
	}
	var last *x509.Certificate
	for _, chain := range chains {
		if len(chain) < 2 {
			continue // it is an authority itself
		}
		first := slices.MinFunc(chain[1:], func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		if last == nil || first.NotAfter.After(last.NotAfter) {
			last = first
		}
	}
	return last
}

// keyOf returns the key of the Secret that a signer is in.
func (s Secret) keyOf(signer *x509.Certificate) string {
	if slices.ContainsFunc(s.Authorities, signer.Equal) {
		return topology.KeyCA
	}
	return topology.KeyCertificate
}

func ends(c *x509.Certificate, at time.Time) string {
	return fmt.Sprintf("ends on %s, in %d days", c.NotAfter.UTC().Format(time.DateOnly), Days(c, at))
}

// Days returns how many whole days a certificate is valid.
func Days(c *x509.Certificate, at time.Time) int { return int(c.NotAfter.Sub(at).Hours() / 24) }
