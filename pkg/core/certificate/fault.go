package certificate

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Fault is a reason why a certificate cannot be used.
type Fault struct {
	topology.Certificate
	// Text says what is wrong with it: the key of the Secret, the subject of the certificate, dates.
	Text string
	// Renew: a new certificate of the same authority helps.
	Renew bool
}

// Soon is how long before its end a certificate is reported. Tools that renew certificates by
// themselves have done it by then.
const Soon = 14 * 24 * time.Hour

// Faults returns what is wrong with the certificates of a cluster. What could not be read is no
// fault, but for the certificate of this program: without it PD cannot be asked.
func Faults(c topology.Cluster, read map[string]Secret, at time.Time) []Fault {
	all := topology.Certificates(c)
	var faults []Fault
	for _, w := range all {
		s, ok := read[w.Secret]
		if !ok || s.Unread != "" && w.Secret != c.ClientSecret() {
			continue
		}
		text, renew := fault(w, s, at)
		if text == "" {
			text, renew = untrusted(w, s, all, read, at)
		}
		if text == "" {
			text = unaccepted(c, w, s)
		}
		if text != "" {
			faults = append(faults, Fault{Certificate: w, Text: text, Renew: renew})
		}
	}
	return faults
}

// fault returns what is wrong with a certificate by itself.
func fault(w topology.Certificate, s Secret, at time.Time) (text string, renew bool) {
	switch {
	case s.Unread != "":
		return fmt.Sprintf("Secret %s could not be read: %s", s.Name, s.Unread), false
	case s.Missing:
		return fmt.Sprintf("Secret %s does not exist", s.Name), false
	case s.Problem != "":
		return fmt.Sprintf("%s of Secret %s %s", s.Key, s.Name, s.Problem), false
	case at.After(s.Leaf.NotAfter):
		return fmt.Sprintf("the certificate %s in Secret %s expired on %s", subject(s.Leaf), s.Name, day(s.Leaf.NotAfter)), true
	case at.Before(s.Leaf.NotBefore):
		return fmt.Sprintf("the certificate %s in Secret %s is not valid before %s", subject(s.Leaf), s.Name, day(s.Leaf.NotBefore)), true
	}
	if expired := expiredAuthority(s, at); expired != nil {
		return fmt.Sprintf("the authority %s in %s of Secret %s expired on %s", subject(expired), topology.KeyCA, s.Name, day(expired.NotAfter)), false
	}
	if missing := notCovered(s.Leaf, w.Called); len(missing) > 0 {
		return fmt.Sprintf("the certificate %s in Secret %s is not for %s, by which members are called", subject(s.Leaf), s.Name, some(missing)), true
	}
	return "", false
}

// expiredAuthority returns an authority that has expired, if there is no other one.
func expiredAuthority(s Secret, at time.Time) *x509.Certificate {
	valid := func(c *x509.Certificate) bool { return !at.After(c.NotAfter) }
	if len(s.Authorities) == 0 || slices.ContainsFunc(s.Authorities, valid) {
		return nil
	}
	return s.Authorities[0]
}

// untrusted returns which other owner does not trust a certificate. The owner's own Secret comes
// first, because programs read all of their files from one Secret.
func untrusted(w topology.Certificate, s Secret, all []topology.Certificate, read map[string]Secret, at time.Time) (text string, renew bool) {
	judges := []topology.Certificate{w}
	for _, o := range all {
		if o.Circle == w.Circle && o.Secret != w.Secret {
			judges = append(judges, o)
		}
	}
	for _, o := range judges {
		by, ok := read[o.Secret]
		if !ok || !by.Usable() || len(by.Authorities) == 0 {
			continue
		}
		// Who only connects asks for the certificate of a server, and the other way round.
		asServer, asClient := w.Server && (o.Client || o.Secret == w.Secret), w.Client && (o.Server || o.Secret == w.Secret)
		for _, role := range []struct{ asked, server bool }{{asServer, true}, {asClient, false}} {
			if !role.asked {
				continue
			}
			if err := by.trusts(s, role.server, at); err != nil {
				return distrust(s, by, role.server, err), true
			}
		}
	}
	return "", false
}

func distrust(s, by Secret, server bool, err error) string {
	if signer, ok := errors.AsType[outdated](err); ok {
		return fmt.Sprintf("the certificate %s in Secret %s is signed by %s, which is valid from %s to %s only",
			subject(s.Leaf), s.Name, subject(signer.Certificate), day(signer.NotBefore), day(signer.NotAfter))
	}
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage {
		role := "clients"
		if server {
			role = "servers"
		}
		return fmt.Sprintf("the certificate %s in Secret %s is not for use by %s", subject(s.Leaf), s.Name, role)
	}
	return fmt.Sprintf("the certificate %s in Secret %s, issued by %s, is not signed by an authority in %s of Secret %s",
		subject(s.Leaf), s.Name, issuer(s.Leaf), topology.KeyCA, by.Name)
}

// unaccepted returns which component does not accept the name of a certificate, because its
// configuration can list the accepted names.
func unaccepted(c topology.Cluster, w topology.Certificate, s Secret) string {
	if w.Circle != topology.MembersCircle {
		return ""
	}
	for _, g := range c.Groups {
		names := topology.AcceptedNames(c, g.Kind)
		if len(names) > 0 && !slices.Contains(names, s.Leaf.Subject.CommonName) {
			return fmt.Sprintf("the certificate %s in Secret %s has a common name that %s does not accept: its configuration lists %s",
				subject(s.Leaf), s.Name, g.Kind.Title(), some(names))
		}
	}
	return ""
}

// notCovered returns the names that a certificate is not for.
func notCovered(leaf *x509.Certificate, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return leaf.VerifyHostname(name) == nil })
}

// EndsSoon reports whether a certificate that is still valid ends soon.
func (s Secret) EndsSoon(at time.Time) bool {
	return s.Usable() && !at.After(s.Leaf.NotAfter) && s.Leaf.NotAfter.Sub(at) < Soon
}

func subject(c *x509.Certificate) string { return quoted(c.Subject.String()) }
func issuer(c *x509.Certificate) string  { return quoted(c.Issuer.String()) }

func quoted(name string) string {
	if name == "" {
		return "without a subject"
	}
	return `"` + name + `"`
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// some returns the first names of a list.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
