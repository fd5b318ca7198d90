package volume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/kubeapi"
)

const released = "Released"

// Recycle makes released volumes available again until the context ends. It reports what goes wrong and carries on.
func Recycle(ctx context.Context, client *kubeapi.Client, folder string, report func(error)) {
	const pause = 500 * time.Millisecond
	for ctx.Err() == nil {
		if err := watchAndRecycle(ctx, client, folder, report); err != nil && ctx.Err() == nil {
			report(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// watchAndRecycle lists first and then follows the changes since that list, so that nothing is missed in between.
func watchAndRecycle(ctx context.Context, client *kubeapi.Client, folder string, report func(error)) error {
	const selector = "labelSelector=" + ownLabel + "%3D" + ownLabelValue
	var list struct {
		Metadata metadata           `json:"metadata"`
		Items    []persistentVolume `json:"items"`
	}
	if err := client.Call(ctx, http.MethodGet, volumesPath+"?"+selector, nil, &list); err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for _, item := range list.Items {
		if err := recycleOne(ctx, client, folder, item); err != nil {
			report(err)
		}
	}
	path := volumesPath + "?watch=true&" + selector + "&resourceVersion=" + list.Metadata.ResourceVersion
	return client.Watch(ctx, path, func(kind string, object json.RawMessage) {
		var item persistentVolume
		if kind != "ADDED" && kind != "MODIFIED" {
			return
		}
		err := json.Unmarshal(object, &item)
		if err == nil {
			err = recycleOne(ctx, client, folder, item)
		}
		if err != nil {
			report(err)
		}
	})
}

// recyclable reports whether a volume's data may be deleted: only of a volume that the node made, whose claim is gone,
// and only in the very folder that the node gave it.
func recyclable(volume persistentVolume, folder string) bool {
	return volume.Metadata.Labels[ownLabel] == ownLabelValue &&
		volume.Status != nil && volume.Status.Phase == released &&
		volume.Spec.folder() == filepath.Join(folder, volume.Metadata.Name)
}

// recycleOne wipes a volume and replaces its object: the binding to the old claim is part of the object.
func recycleOne(ctx context.Context, client *kubeapi.Client, folder string, volume persistentVolume) error {
	if !recyclable(volume, folder) {
		return nil
	}
	name := volume.Metadata.Name
	// The preconditions fail if somebody rescued the volume, by clearing its binding, since it was seen. Its data is
	// wiped only after the object is gone, when no claim can be bound to it any more.
	options := map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
		"preconditions": map[string]string{
			"uid": volume.Metadata.UID, "resourceVersion": volume.Metadata.ResourceVersion,
		},
	}
	err := client.Call(ctx, http.MethodDelete, volumesPath+"/"+name, options, nil)
	if status := new(kubeapi.StatusError); errors.As(err, &status) &&
		(status.Code == http.StatusConflict || status.Code == http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete the released volume %s: %w", name, err)
	}
	if err := awaitGone(ctx, client, name); err != nil {
		return err
	}
	if err := os.RemoveAll(volume.Spec.folder()); err != nil {
		return fmt.Errorf("wipe volume %s: %w", name, err)
	}
	return createVolume(ctx, client, fresh(volume))
}

// fresh is the volume as it was before a claim was bound to it.
func fresh(volume persistentVolume) persistentVolume {
	volume.Metadata = metadata{Name: volume.Metadata.Name, Labels: volume.Metadata.Labels}
	volume.Status = nil
	return volume
}

// awaitGone waits until a finalizer lets the deleted volume go.
func awaitGone(ctx context.Context, client *kubeapi.Client, name string) error {
	for {
		err := client.Call(ctx, http.MethodGet, volumesPath+"/"+name, nil, nil)
		if status := new(kubeapi.StatusError); errors.As(err, &status) && status.Code == http.StatusNotFound {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for the deletion of volume %s: %w", name, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
