// Package issue makes the certificates of a cluster. It uses an own authority, whose private key is in a Secret, or
// asks cert-manager.
package issue

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

const (
	// keyBits is the length of RSA keys, which all releases and all drivers of MySQL can use.
	keyBits = 2048
	// early is how long before now a certificate begins: clocks of hosts differ.
	early = 5 * time.Minute
	// authorityLife is how long an authority is valid.
	authorityLife = 10 * 365 * 24 * time.Hour
)

// CommonName is the common name of certificates, unless the configuration of a component lists
// others that it accepts.
const CommonName = "TiDB"

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	key         crypto.Signer
	text        map[string][]byte // as in its Secret
}

// NewAuthority makes an authority that signs itself.
func NewAuthority(name string, at time.Time) (Authority, error) {
	serial, err := serialNumber()
	if err != nil {
		return Authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: at.Add(-early), NotAfter: at.Add(authorityLife),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true,
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return Authority{}, fmt.Errorf("make a private key: %w", err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Authority{}, fmt.Errorf("make an authority: %w", err)
	}
	certificate, private, err := encode(raw, key)
	if err != nil {
		return Authority{}, err
	}
	return ParseAuthority(map[string][]byte{
		topology.KeyCertificate: certificate, topology.KeyPrivate: private, topology.KeyCA: certificate,
	})
}

// ParseAuthority reads an authority from the content of its Secret.
func ParseAuthority(data map[string][]byte) (Authority, error) {
	pair, err := tls.X509KeyPair(data[topology.KeyCertificate], data[topology.KeyPrivate])
	if err != nil {
		return Authority{}, fmt.Errorf("read the authority's key: %w", err)
	}
	c, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return Authority{}, fmt.Errorf("read the authority's certificate: %w", err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !c.IsCA {
		return Authority{}, fmt.Errorf("certificate %q cannot sign others", c.Subject)
	}
	return Authority{Certificate: c, key: key, text: data}, nil
}

// PEM returns the authority's certificate, as others trust it.
func (a Authority) PEM() []byte { return a.text[topology.KeyCertificate] }

// Issue makes a certificate for its owners, and returns the content of its Secret. It ends before
// the authority does.
func (a Authority) Issue(w topology.Certificate, commonName string, at time.Time, life time.Duration) (map[string][]byte, error) {
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: commonName, OrganizationalUnit: []string{w.Secret}},
		NotBefore: at.Add(-early), NotAfter: earlier(at.Add(life), a.Certificate.NotAfter),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, BasicConstraintsValid: true,
	}
	if w.Server {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	if w.Client {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	for _, name := range w.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("make a private key: %w", err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.Certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("issue the certificate of Secret %s: %w", w.Secret, err)
	}
	certificate, private, err := encode(raw, key)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		topology.KeyCertificate: certificate, topology.KeyPrivate: private, topology.KeyCA: bytes.Clone(a.PEM()),
	}, nil
}

func encode(certificate []byte, key *rsa.PrivateKey) (certPEM, keyPEM []byte, err error) {
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil
}

// serialNumber returns a random number, as two certificates of one authority must not have the same.
func serialNumber() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	return n, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
