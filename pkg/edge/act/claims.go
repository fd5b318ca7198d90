package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

func (a *Actor) markClaims(ctx context.Context, s step.MarkClaims) error {
	for _, c := range s.Claims {
		claim, err := a.sameClaim(ctx, c)
		if err != nil {
			return err
		}
		if claim == nil || marked(claim) {
			continue // a deleted claim needs no mark, and the first mark says since when
		}
		if err := a.annotate(ctx, claim, a.now().UTC().Format(time.RFC3339)); err != nil {
			return err
		}
	}
	return nil
}

func (a *Actor) unmarkClaims(ctx context.Context, s step.UnmarkClaims) error {
	if s.PodUID != "" {
		if _, err := a.samePod(ctx, s.Member, s.PodUID); err != nil {
			return err
		}
	}
	for _, c := range s.Claims {
		claim, err := a.sameClaim(ctx, c)
		if err != nil {
			return err
		}
		if claim == nil || !marked(claim) {
			continue
		}
		if err := a.annotate(ctx, claim, nil); err != nil {
			return err
		}
	}
	return nil
}

// deleteClaim deletes data, which cannot be taken back. So everything is checked once more: the claim is the same
// and still marked, and no pod uses it or will use it soon. The database must know no member to which the claim
// could belong.
func (a *Actor) deleteClaim(ctx context.Context, s step.DeleteClaim) error {
	object := "persistentvolumeclaim " + s.Name
	claim, err := a.sameClaim(ctx, step.Claim{Name: s.Name, UID: s.UID})
	switch {
	case err != nil:
		return err
	case claim == nil || claim.DeletionTimestamp != nil:
		return nil
	case !marked(claim):
		return stale(object, "is not marked as left over any more")
	}
	if err := a.notInUse(ctx, object, s); err != nil {
		return err
	}
	if err := a.notInPD(ctx, object, s.Component, s.Member, !s.Reclaim && s.PodUID == ""); err != nil {
		return err
	}
	if s.Reclaim {
		// This comes before the claim is deleted: a volume that stays after its claim would never
		// be deleted. If this process is killed here, the mark stays and the next run continues.
		if err := a.deleteVolumeWithClaim(ctx, claim); err != nil {
			return err
		}
	}
	// Only if it is unchanged: a user may remove the mark at this moment.
	_, err = deleteObject(ctx, a.kube.CoreV1().PersistentVolumeClaims(a.cluster.Namespace), toDelete{object: object, live: claim, unchanged: true})
	return err
}

// notInUse fails if a pod mounts the claim, or if the StatefulSet is about to
// create such a pod. It creates none while the pod exists that the step allows.
func (a *Actor) notInUse(ctx context.Context, object string, s step.DeleteClaim) error {
	ordinal, ok := a.cluster.Ordinal(s.Component, s.Member)
	if !ok {
		return fmt.Errorf("delete %s: %q is no member of %s", object, s.Member, s.Component.Title())
	}
	set, err := a.sets().Get(ctx, a.cluster.SetName(s.Component), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return failed("get", "statefulset "+a.cluster.SetName(s.Component), err)
	case state.OrdinalsOf(set).Has(ordinal) && s.PodUID == "":
		return stale("statefulset "+set.Name, "asks for %s now", s.Member)
	}
	pods, err := a.kube.CoreV1().Pods(a.cluster.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return failed("list", "pods", err)
	}
	allowed := s.PodUID == ""
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case pod.Name == s.Member && string(pod.UID) == s.PodUID:
			allowed = true
		case pod.Name == s.Member, mounts(pod, s.Name):
			return stale(object, "is used by pod %s", pod.Name)
		}
	}
	if !allowed {
		return stale("pod "+s.Member, "is gone, and a new one may come for %s", object)
	}
	return nil
}

func mounts(pod *corev1.Pod, claim string) bool {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	return false
}

// notInPD fails if PD knows a member that the object could belong to. none says
// whether an answer of PD without any stores is accepted.
func (a *Actor) notInPD(ctx context.Context, object string, k topology.Kind, member string, none bool) error {
	switch k.Data() {
	case topology.Raft:
		return a.noMember(ctx, object, member)
	case topology.Store:
		return a.noStore(ctx, object, member, none)
	case topology.Binlog:
		return a.noPump(ctx, object, member)
	}
	return nil
}

// noMember fails if PD has a member in the pod.
func (a *Actor) noMember(ctx context.Context, object, pod string) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	members, err := client.Members(ctx)
	if err != nil {
		return fmt.Errorf("read PD members: %w", err)
	}
	for _, m := range members.Members {
		if a.isMember(pod, m) {
			return stale(object, "belongs to %s, which PD still has as member %d", pod, m.ID)
		}
	}
	return nil
}

// noStore fails if PD has a store in the pod that is not a tombstone.
func (a *Actor) noStore(ctx context.Context, object, pod string, none bool) error {
	client, err := a.database()
	if err != nil {
		return err
	}
	stores, err := client.Stores(ctx)
	if err != nil && (!none || !errors.Is(err, pd.ErrNotBootstrapped)) {
		// PD also lists no stores for a moment after its leader has changed. Only a
		// step that has to make room for a member must not wait for that to pass.
		return fmt.Errorf("read stores: %w", err)
	}
	for _, store := range stores {
		if store.State != pd.StoreTombstone && a.hosts(pod, hostOf(store.Address)) {
			return stale(object, "belongs to %s, which PD still has as store %d", pod, store.ID)
		}
	}
	return nil
}

func (a *Actor) isMember(pod string, m pd.Member) bool {
	for _, raw := range append(m.PeerURLs, m.ClientURLs...) {
		if u, err := url.Parse(raw); err == nil && a.hosts(pod, u.Hostname()) {
			return true
		}
	}
	return m.Name == pod
}

// claim returns a claim, nil when there is none.
func (a *Actor) claim(ctx context.Context, name string) (*corev1.PersistentVolumeClaim, error) {
	claim, err := a.kube.CoreV1().PersistentVolumeClaims(a.cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("get", "persistentvolumeclaim "+name, err)
	}
	return claim, nil
}

// sameClaim returns the claim with the same UID and version, nil when there is none of its name.
func (a *Actor) sameClaim(ctx context.Context, c step.Claim) (*corev1.PersistentVolumeClaim, error) {
	claim, err := a.claim(ctx, c.Name)
	switch {
	case err != nil || claim == nil:
		return claim, err
	case string(claim.UID) != c.UID:
		return nil, stale("persistentvolumeclaim "+c.Name, "has been replaced by another one of that name")
	case c.Version != "" && claim.ResourceVersion != c.Version:
		return nil, stale("persistentvolumeclaim "+c.Name, "has changed")
	}
	return claim, nil
}

func marked(claim *corev1.PersistentVolumeClaim) bool {
	_, ok := claim.Annotations[topology.AnnotationDeferDeleting]
	return ok
}

// annotate writes the mark of a claim that was read, nil to remove it. The version
// in the patch prevents that a new claim of the same name gets the mark.
func (a *Actor) annotate(ctx context.Context, claim *corev1.PersistentVolumeClaim, value any) error {
	object := "persistentvolumeclaim " + claim.Name
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion,
		"annotations":     map[string]any{topology.AnnotationDeferDeleting: value},
	}})
	if err != nil {
		return fmt.Errorf("encode patch of %s: %w", object, err)
	}
	_, err = a.kube.CoreV1().PersistentVolumeClaims(a.cluster.Namespace).Patch(ctx, claim.Name,
		types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return stale(object, "has just changed")
	case err != nil:
		return failed("patch", object, err)
	}
	return nil
}
