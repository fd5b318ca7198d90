// Package certificate says what is wrong with the certificates of a cluster. It does so before a pod is
// made or restarted, because a process without a valid certificate does not come back.
//
// It is pure. Private keys are looked at when a Secret is parsed and are not kept.
package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Secret is what was read of a Secret with a certificate.
type Secret struct {
	Name string
	// Unread says why it could not be read; then nothing is known of it.
	Unread string
	// Missing: it does not exist.
	Missing bool
	// Key is the first key whose value cannot be used, and Problem says why.
	Key, Problem string
	// Leaf is the certificate, and Chain has those between it and an authority.
	Leaf  *x509.Certificate
	Chain []*x509.Certificate
	// Authorities are the certificates in ca.crt, whose signatures its owner trusts.
	Authorities []*x509.Certificate
}

// Parse reads the content of a Secret. Without an authority it needs no ca.crt.
func Parse(name string, data map[string][]byte, withoutCA bool) Secret {
	s := Secret{Name: name}
	for _, key := range []string{topology.KeyCertificate, topology.KeyPrivate, topology.KeyCA} {
		if len(data[key]) == 0 && (key != topology.KeyCA || !withoutCA) {
			s.Key, s.Problem = key, "is missing"
			return s
		}
	}
	chain, err := decode(data[topology.KeyCertificate])
	if err != nil {
		s.Key, s.Problem = topology.KeyCertificate, err.Error()
		return s
	}
	if _, err := tls.X509KeyPair(data[topology.KeyCertificate], data[topology.KeyPrivate]); err != nil {
		s.Key, s.Problem = topology.KeyPrivate, "is not the private key of "+topology.KeyCertificate
		return s
	}
	s.Leaf, s.Chain = chain[0], chain[1:]
	if len(data[topology.KeyCA]) == 0 {
		return s
	}
	if s.Authorities, err = decode(data[topology.KeyCA]); err != nil {
		s.Key, s.Problem = topology.KeyCA, err.Error()
	}
	return s
}

// decode reads certificates in PEM. Other blocks are skipped, as programs do that read such files.
func decode(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("has a certificate that cannot be read: " + err.Error())
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, errors.New("has no certificate in PEM")
	}
	return all, nil
}

// Usable reports whether there is a certificate to look at.
func (s Secret) Usable() bool {
	return s.Unread == "" && !s.Missing && s.Problem == "" && s.Leaf != nil
}

// ID returns a short name of a certificate, by which two readings are compared.
func ID(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:6])
}

// outdated is a signer of a certificate that is not valid now, so that nobody accepts the certificate.
type outdated struct{ *x509.Certificate }

func (o outdated) Error() string { return "not valid now: " + subject(o.Certificate) }

// trusts reports why the owner of s does not trust a certificate that is valid now, nil if it does. A
// certificate may be valid for longer than its authority. When the authority has ended, its certificate
// is not said to be of another authority.
func (s Secret) trusts(o Secret, server bool, at time.Time) error {
	usage := x509.ExtKeyUsageClientAuth
	if server {
		usage = x509.ExtKeyUsageServerAuth
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range s.Authorities {
		roots.AddCert(c)
	}
	for _, c := range o.Chain {
		between.AddCert(c)
	}
	verify := func(at time.Time) error {
		_, err := o.Leaf.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage},
		})
		return err
	}
	if verify(at) == nil {
		return nil
	}
	signers := slices.Concat(o.Chain, s.Authorities)
	// What is ever valid together is so when the last one of them begins to be.
	err := verify(o.Leaf.NotBefore)
	for _, c := range signers {
		if err != nil && c.NotBefore.After(o.Leaf.NotBefore) && verify(c.NotBefore) == nil {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	i := slices.IndexFunc(signers, func(c *x509.Certificate) bool { return at.Before(c.NotBefore) || at.After(c.NotAfter) })
	return outdated{signers[i]}
}
