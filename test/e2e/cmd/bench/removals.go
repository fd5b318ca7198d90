package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// bareRemovals is how often a store is removed without the plugin: what it takes is between one second and eleven,
// since PD looks for stores without regions every ten.
const bareRemovals = 3

// the removed store is the one with the highest ordinal.
const (
	removedPod   = cluster + "-tikv-3"
	removedClaim = "tikv-" + removedPod
)

// removals adds a store and removes it again without the plugin, and returns how long the removals took: from the
// request to PD until the store is a tombstone and its pod is gone.
func (t target) removals(ctx context.Context, client pd.Client) (all times, err error) {
	for range bareRemovals {
		// A tombstone cannot come back with its data, and the plugin keeps that of the store that it has removed.
		if err := t.deleteClaim(ctx); err != nil {
			return nil, err
		}
		id, err := t.addStore(ctx, client)
		if err != nil {
			return nil, fmt.Errorf("add a store without the plugin: %w", err)
		}
		if err := t.rest(ctx, client); err != nil {
			return nil, err
		}
		begun := time.Now()
		if err := t.removeStore(ctx, client, id); err != nil {
			return nil, fmt.Errorf("remove store %d without the plugin: %w", id, err)
		}
		all = append(all, time.Since(begun))
	}
	return all, nil
}

// addStore returns the id of a new store when PD has heard from it.
func (t target) addStore(ctx context.Context, client pd.Client) (id uint64, err error) {
	if err := t.scaleStores(ctx, 4); err != nil {
		return 0, err
	}
	err = wait.PollUntilContextTimeout(ctx, look, patience, true, func(ctx context.Context) (bool, error) {
		stores, err := client.Stores(ctx, pd.StoreUp)
		i := slices.IndexFunc(stores, func(s pd.Store) bool { return strings.HasPrefix(s.Address, removedPod+".") })
		if err != nil || i < 0 {
			return false, err
		}
		id = stores[i].ID
		return stores[i].Healthy(), nil
	})
	return id, err
}

// removeStore takes a store offline, and its pod away when PD has made it a tombstone.
func (t target) removeStore(ctx context.Context, client pd.Client, id uint64) error {
	if err := client.DeleteStore(ctx, id); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, look, patience, true, func(ctx context.Context) (bool, error) {
		store, err := client.Store(ctx, id)
		return err == nil && store.State == pd.StoreTombstone, err
	})
	if err != nil {
		return err
	}
	if err := t.scaleStores(ctx, 3); err != nil {
		return err
	}
	return t.gone(ctx, func() error {
		_, err := t.node.Kube.CoreV1().Pods(t.plugin.Namespace).Get(ctx, removedPod, metav1.GetOptions{})
		return err
	})
}

func (t target) scaleStores(ctx context.Context, n int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
	_, err := t.node.Kube.AppsV1().StatefulSets(t.plugin.Namespace).
		Patch(ctx, cluster+"-tikv", types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
	return err
}

func (t target) deleteClaim(ctx context.Context) error {
	claims := t.node.Kube.CoreV1().PersistentVolumeClaims(t.plugin.Namespace)
	if err := claims.Delete(ctx, removedClaim, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return t.gone(ctx, func() error { _, err := claims.Get(ctx, removedClaim, metav1.GetOptions{}); return err })
}

// gone waits until an object is not found.
func (t target) gone(ctx context.Context, get func() error) error {
	return wait.PollUntilContextTimeout(ctx, look, patience, true, func(context.Context) (bool, error) {
		err := get()
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}
