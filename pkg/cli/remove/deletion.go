package remove

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// deletion deletes one cluster.
type deletion struct {
	remains
	session *target.Session
	tc      *v1alpha1.TidbCluster // nil: it is gone, and the rest is left
	dynamic dynamic.Interface
	context string // of the kubeconfig, for commands that are shown
	result  string // what was done, for the user
	inPD    bool   // it is a part that leaves, and PD lists members of it
}

// prepare reads a cluster, and refuses to delete it where data that is to stay would go. If the TidbCluster is gone,
// prepare completes what an earlier run began. If nothing is left to do, the error is the error of the missing
// TidbCluster.
//
// together are all clusters that the command deletes.
func (o options) prepare(ctx context.Context, f *factory.Factory, n cache.ObjectName, together []cache.ObjectName) (*deletion, error) {
	s, err := target.Connect(f, n.Namespace, n.Name)
	if err != nil {
		return nil, err
	}
	meta, err := f.Metadata()
	if err != nil {
		s.Close()
		return nil, err
	}
	untyped, err := f.Dynamic()
	if err != nil {
		s.Close()
		return nil, err
	}
	d := &deletion{session: s, dynamic: untyped, context: f.Context(), remains: remains{kube: s.Kube, meta: meta}}
	tc, err := s.Load(ctx)
	if bad, malformed := errors.AsType[*intent.MalformedError](err); malformed {
		tc, err = bad.Cluster, nil // a deletion does not need its configurations
	}
	if missing, gone := errors.AsType[*intent.NotFoundError](err); gone {
		d.cluster = topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}})
		if any, err := d.leftOver(ctx, o.claims); any || err != nil {
			return d, err
		}
		return d, missing
	}
	if err != nil {
		return d, err
	}
	d.tc, d.cluster = tc, topology.New(tc)
	if err := d.leaves(ctx, together); err != nil {
		return d, err
	}
	if o.claims {
		return d, nil
	}
	return d, d.keepsData(ctx)
}

// leftOver reports whether there is anything left to wait for, or to delete.
func (d *deletion) leftOver(ctx context.Context, withClaims bool) (bool, error) {
	pods, err := d.pods(ctx)
	if err != nil {
		return false, err
	}
	claims, err := d.claims(ctx)
	return len(pods) > 0 || withClaims && len(claims) > 0, err
}

// delete deletes the TidbCluster, and waits for the rest.
func (d *deletion) delete(ctx context.Context, f *factory.Factory, o options) error {
	waits, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	if d.tc != nil {
		release := func() {}
		if o.claims {
			d.withData(ctx)
		} else {
			d.takeBack(waits, f)
		}
		if d.inPD {
			if err := d.leavePD(waits, f); err != nil {
				return exit.Ended(ctx, err)
			}
		}
		if o.wait {
			release = d.serversFirst(waits)
		}
		defer release()
		if ctx.Err() != nil {
			return undeleted(ctx, d.cluster)
		}
		if err := d.session.Intent.Delete(ctx, d.tc, intent.Write{}); err != nil {
			return err
		}
		release()
	}
	if !o.wait {
		d.result = target.Title(d.cluster) + " is being deleted; its data stays\n" + d.recordsStay(ctx, false) + d.certificatesStay(ctx) + d.secretsStay(ctx)
		return nil
	}
	return d.finish(waits, o)
}

// finish waits until the last pod has stopped. Then it deletes the claims, or
// says that they are there.
func (d *deletion) finish(ctx context.Context, o options) error {
	if err := d.waitForPods(ctx); err != nil {
		return err
	}
	claims, err := d.claims(ctx)
	if err != nil {
		return exit.Ended(ctx, err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s is deleted\n", target.Title(d.cluster))
	switch {
	case len(claims) == 0:
	case !o.claims:
		fmt.Fprintf(&text, "its data stays, in %s: %s\n", count(len(claims), "claim"),
			d.cluster.Kubectl("get", "pvc", "-l", topology.LabelInstance+"="+d.cluster.Instance).Line(d.context))
	default:
		if err := d.deleteClaims(ctx, claims); err != nil {
			return exit.Ended(ctx, err)
		}
		fmt.Fprintf(&text, "its data is deleted, with %s\n", count(len(claims), "claim"))
	}
	if o.secrets {
		d.result = text.String()
		return d.deleteSecrets(ctx)
	}
	d.result = text.String() + d.recordsStay(ctx, o.claims) + d.certificatesStay(ctx) + d.secretsStay(ctx)
	return nil
}

// deleteSecrets deletes the certificates that this program has made, and the first password of root. Secrets that others
// have made stay.
func (d *deletion) deleteSecrets(ctx context.Context) error {
	names, err := issue.Made(ctx, d.kube, d.cluster)
	if err != nil {
		return err
	}
	has, err := d.hasPassword(ctx)
	if err != nil {
		return err
	}
	if has {
		names = append(names, d.cluster.InitSecret())
	}
	for _, name := range names {
		if !strings.HasPrefix(name, d.cluster.Name+"-") {
			continue // the spec names a Secret that other clusters may use
		}
		if err := d.kube.CoreV1().Secrets(d.cluster.Namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete secret %s/%s: %w", d.cluster.Namespace, name, err)
		}
	}
	return nil
}

// hasPassword reports whether there is a Secret with the first password of root. A Secret of tidb-operator has an owner, and
// is deleted with it.
func (d *deletion) hasPassword(ctx context.Context) (bool, error) {
	got, err := d.kube.CoreV1().Secrets(d.cluster.Namespace).Get(ctx, d.cluster.InitSecret(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && metav1.GetControllerOf(got) == nil, err
}

// certificatesStay says which Certificates stay that cert-manager was asked for. They are named before the Secrets: as
// long as they are there, cert-manager makes the Secrets again. Nothing is said where they cannot be read.
func (d *deletion) certificatesStay(ctx context.Context) string {
	asked, err := issue.Asked(ctx, d.dynamic, d.cluster)
	if err != nil || len(asked) == 0 {
		return ""
	}
	words := append([]string{"delete", "certificates.cert-manager.io,secrets", "--ignore-not-found"}, asked...)
	return fmt.Sprintf("%s for cert-manager stay, with their Secrets; to delete them as well: %s\n", count(len(asked), "Certificate"),
		d.cluster.Kubectl(words...).Line(d.context))
}

// secretsStay says which Secrets stay. A cluster that is created on the same data needs its certificates again, and
// nobody else could issue certificates that the cluster trusts. And nobody else knows the password of root, which is
// a part of the data. The Secrets are named singly, since other Secrets may have the same label. Nothing is said
// where they cannot be read: the deletion is done.
func (d *deletion) secretsStay(ctx context.Context) string {
	text := ""
	if made, err := issue.Made(ctx, d.kube, d.cluster); err == nil && len(made) > 0 {
		text = fmt.Sprintf("its certificates stay, in %s; to delete them as well: %s\n", count(len(made), "Secret"),
			d.cluster.Kubectl(append([]string{"delete", "secret"}, made...)...).Line(d.context))
	}
	if has, err := d.hasPassword(ctx); err == nil && has {
		name := d.cluster.InitSecret()
		text += fmt.Sprintf("the first password of root stays, in Secret %s; to delete it as well: %s\n", name,
			d.cluster.Kubectl("delete", "secret", name).Line(d.context))
	}
	return text
}
