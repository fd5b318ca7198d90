package sim

import (
	"crypto/x509"
	"math/rand/v2"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/certificate"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// drawCertificates lets a person make mistakes with certificates in one run of four. It is drawn
// separately, so that the other runs stay as they are.
func drawCertificates(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 7))
	o.Faults.Certificate = pick(rng, 0, 0, 0, 1./600)
	o.Faults.Expiry = pick(rng, 0, 0, 0, 1./1800)
}

// spoilCertificate is a person who puts a certificate into the Secret of a component that the others do not accept.
// Processes that run keep their connections; a process that starts serves nobody until the certificate is put right.
func (w *Model) spoilCertificate() {
	k := w.anyKind()
	w.spoiled[k] = w.t + w.between(30, 1800)
	w.renewed[k] = w.spoiled[k]
	w.note("fault: the certificate of %s is not accepted until %s", kinds[k].Title(), clock(w.spoiled[k]))
}

// expireCertificate lets the certificate of a component expire, and has a person renew it later. Connections that are
// open stay open for a while, and none can be opened. Other members and the plugin cannot reach process after process
// any more, though the process runs and its pod is Ready. Each process reads the renewed certificate from its Secret
// without a restart, some time after the certificate was put there.
func (w *Model) expireCertificate() { w.expireFor(w.anyKind(), w.between(600, 5400)) }

func (w *Model) expireFor(k kind, seconds int64) {
	w.spoiled[k] = w.t + seconds
	w.renewed[k] = w.spoiled[k]
	w.note("fault: the certificate of %s has expired, and is renewed at %s", kinds[k].Title(), clock(w.spoiled[k]))
	for _, p := range w.pods[k] {
		if p != nil && p.running {
			p.expired = span{w.t + w.between(0, 300), w.spoiled[k] + w.between(30, 120)}
		}
	}
}

// span is from a second to before another one.
type span struct{ from, until int64 }

func (s span) has(t int64) bool { return s.from <= t && t < s.until }

// uncertified reports whether a process of the component that starts now would not be accepted.
func (w *Model) uncertified(k kind) bool { return w.t < w.spoiled[k] }

// lacks is what package render says about a certificate that is not accepted. Secrets are read live.
func (w *Model) lacks(k kind) []desired.Lack {
	if !w.uncertified(k) {
		return nil
	}
	secret := w.cluster.MemberSecret(kinds[k])
	return []desired.Lack{{
		Need: desired.ValidCertificate, Object: secret, Want: "the certificate in Secret " + secret + " valid",
		Observed: "it is not accepted", Remedy: remedy.Remedy{remedy.Say("put it right")},
	}}
}

// certificates are the Secrets whose certificates were renewed.
func (w *Model) certificates() map[string]certificate.Secret {
	var all map[string]certificate.Secret
	for k, at := range w.renewed {
		if at == 0 || w.t < at {
			continue
		}
		if all == nil {
			all = map[string]certificate.Secret{}
		}
		all[w.cluster.MemberSecret(kinds[k])] = certificate.Secret{Leaf: &x509.Certificate{NotBefore: w.Now().Add(time.Duration(at-w.t) * time.Second)}}
	}
	return all
}

// judgeCertificate checks that no process is taken away that could not come back.
func (w *Model) judgeCertificate(k kind, i int, say sayer) {
	if w.seen.spoiled[k] && w.uncertified(k) && w.served(k, i) {
		say("certificate", "%s could not come back", w.names[k][i])
	}
}

// judgeExpiry checks that no member is given up that only cannot be reached, since its certificate has expired.
func (w *Model) judgeExpiry(k kind, i int, say sayer) {
	if p := w.pods[k][i]; p != nil && p.running && !p.terminating() && p.lost <= w.t && p.expired.has(w.t) && p.expired.has(w.seen.at) {
		say("certificate", "%s runs, and its certificate has expired", w.names[k][i])
	}
}
