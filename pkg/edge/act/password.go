package act

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// Root logs in to a TiDB server as root without a password; tidb.Root implements it.
type Root interface {
	Login(ctx context.Context) error
	SetPassword(ctx context.Context, password string) error
}

// setPassword gives root a password that is in a Secret. The Secret is written first, and a Secret that is there is
// used. If this process ends in between, the next one sets the same password, and nobody is locked out. A password
// that root has is kept, unless it is set in the same moment: access is denied then, and that is recorded. That is
// also how a step is repeated of which only the answer was lost.
func (a *Actor) setPassword(ctx context.Context, s step.SetPassword) error {
	_, ordinal, known := a.cluster.Member(s.Member)
	if !known {
		return fmt.Errorf("set the first password of root: %s is no member of the cluster", s.Member)
	}
	if _, err := a.samePod(ctx, s.Member, s.PodUID); err != nil {
		return err
	}
	tc, group, err := a.current(ctx, s.Component)
	if err != nil || !group.FirstPassword {
		return err // it is recorded, or not asked for any more
	}
	root, err := a.root(ctx, s.Component, ordinal)
	if err != nil {
		return err
	}
	switch err := root.Login(ctx); {
	case errors.Is(err, tidb.ErrPasswordSet):
		return a.patchStatus(ctx, tc, topology.PasswordSet())
	case err != nil:
		return fmt.Errorf("log in without a password: %w", err)
	}
	password, err := a.firstPassword(ctx)
	if err != nil {
		return err
	}
	if err := lease.Lasts(ctx); err != nil { // SQL has no transport that asks
		return err
	}
	switch err := root.SetPassword(ctx, password); {
	case errors.Is(err, tidb.ErrPasswordSet):
		return stale("root of TiDB", "has a password now")
	case err != nil:
		return fmt.Errorf("set the first password of root: %w", err)
	}
	return a.patchStatus(ctx, tc, topology.PasswordSet())
}

// root returns a client for a member, with TLS where TiDB has it for SQL clients.
func (a *Actor) root(ctx context.Context, k topology.Kind, ordinal int) (Root, error) {
	host := a.cluster.PodHost(k, ordinal)
	config, err := a.sqlTLS(ctx, host)
	if err != nil {
		return nil, err
	}
	return a.tidb(fmt.Sprintf("%s:%d", host, topology.TiDBServerPort), config), nil
}

// firstPassword returns the password in the Secret, which it makes if there is none.
func (a *Actor) firstPassword(ctx context.Context) (string, error) {
	name := a.cluster.InitSecret()
	object := "secret " + name
	live, err := a.kube.CoreV1().Secrets(a.cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return a.createPassword(ctx)
	case err != nil:
		return "", failed("get", object, err)
	case live.DeletionTimestamp != nil:
		return "", stale(object, "is being deleted")
	}
	if c := metav1.GetControllerOf(live); c != nil && c.Kind == "TidbCluster" && c.UID != a.cluster.UID {
		return "", stale(object, "still belongs to a former TidbCluster and is about to be deleted with it")
	}
	if len(live.Data[topology.KeyRoot]) == 0 {
		return "", &callError{call: "use " + object, err: fmt.Errorf("it has no password under the key %s: add one, or delete the Secret", topology.KeyRoot), final: true}
	}
	return string(live.Data[topology.KeyRoot]), nil
}

// createPassword makes the Secret with a random password. The Secret has no owner: after the TidbCluster is
// deleted, its data stays, and with it the password, which nobody else knows. The password's last characters are there
// for validate_password, which may ask for a small letter, a digit and a character that is neither.
func (a *Actor) createPassword(ctx context.Context) (string, error) {
	password := rand.Text() + "-a1"
	_, err := a.kube.CoreV1().Secrets(a.cluster.Namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: a.cluster.InitSecret(), Namespace: a.cluster.Namespace, Labels: a.cluster.Selector(),
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{topology.KeyRoot: []byte(password)},
	}, metav1.CreateOptions{FieldManager: fieldManager})
	object := "secret " + a.cluster.InitSecret()
	switch {
	case apierrors.IsAlreadyExists(err):
		return "", stale(object, "exists now")
	case err != nil:
		return "", failed("create", object, err)
	}
	return password, nil
}
