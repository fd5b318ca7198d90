package observe

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/ledger"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// objects are the Kubernetes objects of a cluster, sorted by what they are of.
type objects struct {
	existing  render.Existing
	pods      map[topology.Kind]map[int]*corev1.Pod
	claims    map[topology.Kind]map[int][]state.Claim
	born      map[topology.Kind]map[int]time.Time // when the claim with a member's data was made
	bound     map[string]string                   // the volumes of claims, by the claim's UID
	evictions []state.Eviction
}

// ordinals is one more than the highest ordinal that has a pod.
func (o objects) ordinals(k topology.Kind) int {
	n := 0
	for ordinal := range o.pods[k] {
		n = max(n, ordinal+1)
	}
	return n
}

// claimed is one more than the highest ordinal that has a claim.
func (o objects) claimed(k topology.Kind) int {
	n := 0
	for ordinal := range o.claims[k] {
		n = max(n, ordinal+1)
	}
	return n
}

// lists are the answers of the API server as they come.
type lists struct {
	services  *corev1.ServiceList
	configs   *corev1.ConfigMapList
	sets      *appsv1.StatefulSetList
	pods      *corev1.PodList
	claims    *corev1.PersistentVolumeClaimList
	ledger    *corev1.ConfigMap
	discovery bool
}

// objects reads everything at once: over a slow line, round trips one after
// another are what a user waits for.
func (o *Observer) objects(ctx context.Context, c topology.Cluster) (objects, error) {
	var l lists
	opts := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(c.Selector()).String()}
	core, apps := o.kube.CoreV1(), o.kube.AppsV1()
	all, ctx := errgroup.WithContext(ctx)
	read := func(what string, f func() error) {
		all.Go(func() error {
			if err := f(); err != nil {
				return fmt.Errorf("read %s of cluster %s/%s: %w", what, c.Namespace, c.Name, err)
			}
			return nil
		})
	}
	read("services", func() (err error) { l.services, err = core.Services(c.Namespace).List(ctx, opts); return })
	read("configmaps", func() (err error) { l.configs, err = core.ConfigMaps(c.Namespace).List(ctx, opts); return })
	read("statefulsets", func() (err error) { l.sets, err = apps.StatefulSets(c.Namespace).List(ctx, opts); return })
	read("pods", func() (err error) { l.pods, err = core.Pods(c.Namespace).List(ctx, opts); return })
	read("persistentvolumeclaims", func() (err error) {
		l.claims, err = core.PersistentVolumeClaims(c.Namespace).List(ctx, opts)
		return
	})
	read("ledger", func() (err error) {
		l.ledger, err = core.ConfigMaps(c.Namespace).Get(ctx, c.LedgerMap(), metav1.GetOptions{})
		return ignoreNotFound(err)
	})
	read("discovery deployment", func() error {
		_, err := apps.Deployments(c.Namespace).Get(ctx, c.BootstrapMap(), metav1.GetOptions{})
		l.discovery = err == nil
		return ignoreNotFound(err)
	})
	if err := all.Wait(); err != nil {
		return objects{}, err
	}
	return l.sort(c)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (l lists) sort(c topology.Cluster) (objects, error) {
	seen := objects{
		pods:   map[topology.Kind]map[int]*corev1.Pod{},
		claims: map[topology.Kind]map[int][]state.Claim{},
		born:   map[topology.Kind]map[int]time.Time{},
		bound:  map[string]string{},
		existing: render.Existing{
			Services:               map[string]*corev1.Service{},
			ConfigMaps:             map[string]*corev1.ConfigMap{},
			Sets:                   map[topology.Kind]*appsv1.StatefulSet{},
			HasDiscoveryDeployment: l.discovery,
		},
	}
	for i := range l.services.Items {
		seen.existing.Services[l.services.Items[i].Name] = &l.services.Items[i]
	}
	for i := range l.configs.Items {
		seen.existing.ConfigMaps[l.configs.Items[i].Name] = &l.configs.Items[i]
	}
	for _, k := range topology.Kinds() {
		seen.pods[k], seen.claims[k], seen.born[k] = map[int]*corev1.Pod{}, map[int][]state.Claim{}, map[int]time.Time{}
		for i := range l.sets.Items {
			if set := &l.sets.Items[i]; set.Name == c.SetName(k) {
				seen.existing.Sets[k] = set
			}
		}
		for i := range l.pods.Items {
			if n, ok := c.Ordinal(k, l.pods.Items[i].Name); ok {
				seen.pods[k][n] = &l.pods.Items[i]
			}
		}
		for i := range l.claims.Items {
			if volume, n, ok := claimOrdinal(c, k, &l.claims.Items[i]); ok {
				claim := &l.claims.Items[i]
				seen.claims[k][n] = append(seen.claims[k][n], claimState(claim, volume))
				if claim.Spec.VolumeName != "" && claim.Status.Phase != corev1.ClaimPending {
					seen.bound[string(claim.UID)] = claim.Spec.VolumeName
				}
				if claim.Name == string(k)+"-"+c.PodName(k, n) {
					seen.born[k][n] = claim.CreationTimestamp.Time
				}
			}
		}
	}
	if l.ledger == nil || l.ledger.Name == "" {
		return seen, nil
	}
	var err error
	seen.evictions, err = ledger.Evictions(l.ledger)
	return seen, err
}
