package issue

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Stage is how far the replacement of the authorities has come. Between two stages all members
// restart: they read authorities only when they start. At no time is there a member that does not
// trust another one.
type Stage string

// The stages, in order. Each is recorded in the Secrets of the authorities before its restart, so
// that another run goes on with it.
const (
	// Begin: nothing has been changed.
	Begin Stage = ""
	// TrustBoth: the new authorities exist, and everybody trusts both. Certificates are of the old.
	TrustBoth Stage = "trust-both"
	// Reissued: certificates are of the new authorities, and everybody still trusts both.
	Reissued Stage = "reissued"
	// TrustNew: nobody trusts the old authorities any more.
	TrustNew Stage = "trust-new"
)

// Stages are those after Begin, in order.
func Stages() []Stage { return []Stage{TrustBoth, Reissued, TrustNew} }

const (
	annStage = "kubectl-tidb/authority-stage" // on the Secret of an authority: the stage
	annSince = "kubectl-tidb/authority-since" // and when it began, which its restart has as well

	// keyNextCertificate and keyNextPrivate have the new authority until it replaces the old one.
	keyNextCertificate = "next.crt"
	keyNextPrivate     = "next.key"
)

// Progress is a stage and when it began.
type Progress struct {
	Stage Stage
	Since time.Time
}

// Progress returns how far the replacement of the authorities has come.
func (s *Self) Progress(ctx context.Context) (Progress, error) {
	for _, circle := range s.circles() {
		got, err := s.read(ctx, s.cluster.AuthoritySecret(circle))
		if err != nil {
			return Progress{}, err
		}
		if got == nil {
			return Progress{}, fmt.Errorf("secret %s/%s does not exist: the certificates are of another authority", s.cluster.Namespace, s.cluster.AuthoritySecret(circle))
		}
		if stage := got.Annotations[annStage]; stage != "" {
			if !slices.Contains(Stages(), Stage(stage)) {
				return Progress{}, unknownStage(got.Name, stage)
			}
			since, err := time.Parse(time.RFC3339, got.Annotations[annSince])
			if err != nil {
				return Progress{}, fmt.Errorf("read annotation %s of secret %s: %w", annSince, got.Name, err)
			}
			return Progress{Stage(stage), since}, nil
		}
	}
	return Progress{}, nil
}

// unknownStage is the error for a stage of another version. To begin again would take authorities away
// that members still trust.
func unknownStage(secret, stage string) error {
	return fmt.Errorf("annotation %s of secret %s is %q, a stage that this version of the plugin does not know, so nothing was changed; go on with the version that has begun the replacement",
		annStage, secret, stage)
}

// circles are those whose certificates the cluster has.
func (s *Self) circles() []topology.Circle {
	var all []topology.Circle
	if s.cluster.TLS.Members {
		all = append(all, topology.MembersCircle)
	}
	if s.cluster.TLS.SQL {
		all = append(all, topology.SQLCircle)
	}
	return all
}

// Advance does what a stage asks of all Secrets, and then records the stage, with the time. It can
// be repeated.
func (s *Self) Advance(ctx context.Context, to Stage, at time.Time) error {
	s.now = at
	for _, circle := range s.circles() {
		if err := s.advance(ctx, circle, to); err != nil {
			return err
		}
	}
	return nil
}

func (s *Self) advance(ctx context.Context, circle topology.Circle, to Stage) error {
	own, err := s.read(ctx, s.cluster.AuthoritySecret(circle))
	if err != nil {
		return err
	}
	if own == nil {
		return fmt.Errorf("secret %s/%s does not exist", s.cluster.Namespace, s.cluster.AuthoritySecret(circle))
	}
	if Stage(own.Annotations[annStage]) == to {
		return nil
	}
	if len(own.Data[keyNextCertificate]) == 0 {
		next, err := s.newAuthority(circle)
		if err != nil {
			return err
		}
		own = own.DeepCopy()
		own.Data[keyNextCertificate], own.Data[keyNextPrivate] = next.PEM(), next.text[topology.KeyPrivate]
		if own, err = s.update(ctx, own); err != nil { // before anybody is to trust it
			return err
		}
	}
	next, err := ParseAuthority(map[string][]byte{
		topology.KeyCertificate: own.Data[keyNextCertificate], topology.KeyPrivate: own.Data[keyNextPrivate],
	})
	if err != nil {
		return fmt.Errorf("secret %s/%s: %w", own.Namespace, own.Name, err)
	}
	trusted := append(bytes.Clone(own.Data[topology.KeyCertificate]), next.PEM()...)
	if to == TrustNew {
		trusted = next.PEM()
	}
	for _, w := range topology.AllCertificates(s.cluster) {
		if w.Circle != circle {
			continue
		}
		if err := s.rewrite(ctx, w, next, trusted, to == Reissued); err != nil {
			return err
		}
	}
	return s.record(ctx, own, to)
}

// rewrite writes the authorities that the owner of a certificate trusts, and a new certificate if
// that is asked for.
func (s *Self) rewrite(ctx context.Context, w topology.Certificate, next Authority, trusted []byte, reissue bool) error {
	got, err := s.read(ctx, w.Secret)
	if err != nil || got == nil || got.Annotations[annIssuer] == "" {
		return err
	}
	data := maps.Clone(got.Data)
	if reissue {
		if data, err = next.Issue(w, s.commonName(), s.now, s.life); err != nil {
			return err
		}
	}
	data[topology.KeyCA] = trusted
	return s.write(ctx, got, data)
}

// record records a stage. With the last one the new authority takes the place of the old one.
func (s *Self) record(ctx context.Context, own *corev1.Secret, stage Stage) error {
	own = own.DeepCopy()
	if own.Annotations == nil {
		own.Annotations = map[string]string{}
	}
	own.Annotations[annStage], own.Annotations[annSince] = string(stage), s.now.UTC().Format(time.RFC3339)
	if stage == TrustNew {
		own.Data[topology.KeyCertificate], own.Data[topology.KeyPrivate] = own.Data[keyNextCertificate], own.Data[keyNextPrivate]
		own.Data[topology.KeyCA] = own.Data[keyNextCertificate]
		delete(own.Data, keyNextCertificate)
		delete(own.Data, keyNextPrivate)
	}
	_, err := s.update(ctx, own)
	return err
}

// Finish ends the replacement, after the restart of its last stage.
func (s *Self) Finish(ctx context.Context) error {
	for _, circle := range s.circles() {
		own, err := s.read(ctx, s.cluster.AuthoritySecret(circle))
		if err != nil || own == nil {
			return err
		}
		own = own.DeepCopy()
		delete(own.Annotations, annStage)
		delete(own.Annotations, annSince)
		if _, err := s.update(ctx, own); err != nil {
			return err
		}
	}
	return nil
}
