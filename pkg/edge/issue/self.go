package issue

import (
	"bytes"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// ForeignError says that somebody else has made certificates of a circle, and must make the missing one too. The
// missing certificate has to be signed by an authority that the other members trust.
type ForeignError struct{ Missing, Foreign string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("Secret %s does not exist, and Secret %s, which was made by others, trusts only certificates of their authority", e.Missing, e.Foreign)
}

// NoAuthorityError says that there is no Secret with the authority of the PD that the members of a TidbCluster join.
type NoAuthorityError struct {
	Secret string
	Part   topology.Joined // zero where the members join by addresses of PD
	PD     string          // the name of that PD, for people
	// Across: the Secret is to be a copy, because the TidbCluster is in another Kubernetes cluster.
	Across bool
}

func (e *NoAuthorityError) Error() string {
	switch {
	case e.Part == topology.Joined{}:
		return fmt.Sprintf("there is no secret %s with a copy of the authority of %s, which has to sign the certificates of the members that join it", e.Secret, e.PD)
	case e.Across:
		return fmt.Sprintf("there is no secret %s with a copy of the authority of %s in the other Kubernetes cluster, which has to sign the certificates of this part as well", e.Secret, e.Part)
	}
	return fmt.Sprintf("there is no secret %s with the authority of %s, which has to sign the certificates of this part as well", e.Secret, e.Part)
}

// annIssuer marks the Secrets that this program has made, and may write again.
const annIssuer = "kubectl-tidb/issued-by"

// Life is how long certificates are valid that nobody gives another time.
const Life = 365 * 24 * time.Hour

// Self issues certificates with authorities of the cluster's own, whose keys are in Secrets.
type Self struct {
	secrets     corev1client.SecretInterface
	ofPD        corev1client.SecretInterface // those of the part with PD, whose authority is the authority of all parts
	cluster     topology.Cluster
	now         time.Time
	life        time.Duration
	name        string // the common name, "" for the one that members here accept
	authorities map[topology.Circle]Authority
}

// NewSelf returns an issuer of the certificates of a cluster.
func NewSelf(kube kubernetes.Interface, c topology.Cluster, now time.Time, life time.Duration) *Self {
	return &Self{secrets: kube.CoreV1().Secrets(c.Namespace), ofPD: kube.CoreV1().Secrets(c.JoinedPart().Namespace), cluster: c, now: now, life: life, authorities: map[topology.Circle]Authority{}}
}

// Missing makes those Secrets that do not exist, and returns their names. Secrets that exist stay as they are. A
// certificate of another authority beside them would not be trusted. So where somebody else has made some
// certificates of a circle, none is made.
func (s *Self) Missing(ctx context.Context) ([]string, error) {
	all := topology.AllCertificates(s.cluster)
	have := map[string]*corev1.Secret{}
	for _, w := range all {
		got, err := s.read(ctx, w.Secret)
		if err != nil {
			return nil, err
		}
		have[w.Secret] = got
	}
	var missing []topology.Certificate
	for _, w := range all {
		if have[w.Secret] != nil {
			continue
		}
		if other := foreign(all, have, w.Circle); other != "" {
			return nil, &ForeignError{Missing: w.Secret, Foreign: other}
		}
		missing = append(missing, w)
	}
	var made []string
	for _, w := range missing {
		a, err := s.authority(ctx, w.Circle)
		if err != nil {
			return made, err
		}
		data, err := a.Issue(w, s.commonName(), s.now, s.life)
		if err != nil {
			return made, err
		}
		if err := s.create(ctx, w.Secret, data); err != nil {
			return made, err
		}
		made = append(made, w.Secret)
	}
	return made, nil
}

// foreign returns a Secret of a circle that others have made, "" if there is none.
func foreign(all []topology.Certificate, have map[string]*corev1.Secret, circle topology.Circle) string {
	for _, w := range all {
		if got := have[w.Secret]; w.Circle == circle && got != nil && got.Annotations[annIssuer] == "" {
			return w.Secret
		}
	}
	return ""
}

// Named gives the certificates a common name, for a part whose members have to be accepted by PD of another part.
func (s *Self) Named(name string) { s.name = name }

func (s *Self) commonName() string {
	if s.name != "" {
		return s.name
	}
	if name := topology.CertificateName(s.cluster); name != "" {
		return name
	}
	return CommonName
}

// read returns a Secret, nil if it does not exist.
func (s *Self) read(ctx context.Context, name string) (*corev1.Secret, error) {
	got, err := s.secrets.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read secret %s/%s: %w", s.cluster.Namespace, name, err)
	}
	return got, nil
}

// authority returns the authority of a circle, which is made where there is none.
func (s *Self) authority(ctx context.Context, circle topology.Circle) (a Authority, err error) {
	if a, ok := s.authorities[circle]; ok {
		return a, nil
	}
	if circle == topology.MembersCircle && s.cluster.JoinsHere() {
		return s.authorityOfPD(ctx)
	}
	name := s.cluster.AuthoritySecret(circle)
	got, err := s.read(ctx, name)
	switch {
	case err != nil:
		return a, err
	case got != nil:
		if a, err = ParseAuthority(got.Data); err != nil {
			return a, fmt.Errorf("secret %s/%s: %w", s.cluster.Namespace, name, err)
		}
	case circle == topology.MembersCircle && !s.cluster.Founds():
		return a, &NoAuthorityError{Secret: s.cluster.Namespace + "/" + name, Part: s.cluster.Joined, PD: s.cluster.JoinedPD(), Across: s.cluster.JoinsAcross()}
	default:
		if a, err = s.newAuthority(circle); err != nil {
			return a, err
		}
		if err := s.create(ctx, name, a.text); err != nil {
			return a, err
		}
	}
	s.authorities[circle] = a
	return a, nil
}

// authorityOfPD returns the authority of the part with PD. Members of a part that another authority has signed would not be
// let in by PD.
func (s *Self) authorityOfPD(ctx context.Context) (a Authority, err error) {
	part := s.cluster.JoinedPart()
	name := part.AuthoritySecret(topology.MembersCircle)
	got, err := s.ofPD.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return a, &NoAuthorityError{Secret: part.Namespace + "/" + name, Part: s.cluster.Joined}
	case err != nil:
		return a, fmt.Errorf("read secret %s/%s: %w", part.Namespace, name, err)
	}
	if a, err = ParseAuthority(got.Data); err != nil {
		return a, fmt.Errorf("secret %s/%s: %w", part.Namespace, name, err)
	}
	s.authorities[topology.MembersCircle] = a
	return a, nil
}

func (s *Self) newAuthority(circle topology.Circle) (Authority, error) {
	return NewAuthority(fmt.Sprintf("%s of cluster %s/%s", nameOfAuthority(circle), s.cluster.Namespace, s.cluster.Name), s.now)
}

func nameOfAuthority(circle topology.Circle) string {
	if circle == topology.SQLCircle {
		return "SQL authority"
	}
	return "authority"
}

// create makes a Secret. It does not replace one that another process has made since.
func (s *Self) create(ctx context.Context, name string, data map[string][]byte) error {
	_, err := s.secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.cluster.Namespace, Name: name, Labels: s.cluster.Selector(), Annotations: map[string]string{annIssuer: "kubectl-tidb"},
		},
		Type: corev1.SecretTypeTLS, Data: data,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make secret %s/%s: %w", s.cluster.Namespace, name, err)
	}
	return nil
}

// Renew issues new certificates for the Secrets that this program has made, and returns their names.
// Those of others stay. The authorities stay.
func (s *Self) Renew(ctx context.Context) (renewed, left []string, err error) {
	for _, w := range topology.AllCertificates(s.cluster) {
		got, err := s.read(ctx, w.Secret)
		if err != nil {
			return renewed, left, err
		}
		if got == nil {
			continue
		}
		if got.Annotations[annIssuer] == "" {
			left = append(left, w.Secret)
			continue
		}
		a, err := s.authority(ctx, w.Circle)
		if err != nil {
			return renewed, left, err
		}
		data, err := a.Issue(w, s.commonName(), s.now, s.life)
		if err != nil {
			return renewed, left, err
		}
		if old := got.Data[topology.KeyCA]; bytes.Contains(old, bytes.TrimSpace(a.PEM())) {
			data[topology.KeyCA] = old // it may have more authorities
		}
		if err := s.write(ctx, got, data); err != nil {
			return renewed, left, err
		}
		renewed = append(renewed, w.Secret)
	}
	return renewed, left, nil
}

// write changes the data of a Secret that was read. It fails if the Secret has changed since.
func (s *Self) write(ctx context.Context, got *corev1.Secret, data map[string][]byte) error {
	next := got.DeepCopy()
	next.Data = data
	_, err := s.update(ctx, next)
	return err
}

func (s *Self) update(ctx context.Context, next *corev1.Secret) (*corev1.Secret, error) {
	got, err := s.secrets.Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("write secret %s/%s: %w", next.Namespace, next.Name, err)
	}
	return got, nil
}
