// Package volume provides the node's storage: a default storage class and folders of the node as persistent volumes,
// which become available again, empty, once their claim is gone.
package volume

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/kubeapi"
)

const (
	// Class is the default storage class.
	Class = "local"

	// Count of volumes: a cluster under test takes about ten, and several tests can run at once.
	Count    = 120
	capacity = "10Gi"

	// ownLabel marks the volumes that the node made itself: no other volume is ever wiped.
	ownLabel      = "kubectl-tidb.github.io/node-volume"
	ownLabelValue = "true"

	volumesPath = "/api/v1/persistentvolumes"
)

// persistentVolume holds the fields of a volume that matter here.
type persistentVolume struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
	Status     *status  `json:"status,omitempty"`
}

type metadata struct {
	Name            string            `json:"name"`
	Labels          map[string]string `json:"labels,omitempty"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
}

type spec struct {
	Capacity         map[string]string `json:"capacity"`
	AccessModes      []string          `json:"accessModes"`
	ReclaimPolicy    string            `json:"persistentVolumeReclaimPolicy"`
	StorageClassName string            `json:"storageClassName"`
	HostPath         *hostPath         `json:"hostPath,omitempty"`
	Local            *hostPath         `json:"local,omitempty"`
	NodeAffinity     *nodeAffinity     `json:"nodeAffinity,omitempty"`
}

// folder is where the data of a volume is.
func (s spec) folder() string {
	switch {
	case s.HostPath != nil:
		return s.HostPath.Path
	case s.Local != nil:
		return s.Local.Path
	}
	return ""
}

type hostPath struct {
	Path string `json:"path"`
	Type string `json:"type,omitempty"`
}

type status struct {
	Phase string `json:"phase"`
}

func volumeName(index int) string { return fmt.Sprintf("local-%03d", index) }

// newVolume describes a free volume in a folder of the node.
func newVolume(name, folder string) persistentVolume {
	return persistentVolume{
		APIVersion: "v1", Kind: "PersistentVolume",
		Metadata: metadata{Name: name, Labels: map[string]string{ownLabel: ownLabelValue}},
		Spec: spec{
			Capacity:    map[string]string{"storage": capacity},
			AccessModes: []string{"ReadWriteOnce"},
			// Kubernetes deletes only below /tmp for this kind of volume and calls everything else failed.
			ReclaimPolicy:    "Retain",
			StorageClassName: Class,
			HostPath:         &hostPath{Path: folder, Type: "Directory"},
		},
	}
}

// Create makes the storage class and all volumes in a folder.
func Create(ctx context.Context, client *kubeapi.Client, folder string) error {
	isDefault := map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	if err := createClass(ctx, client, Class, "Immediate", isDefault); err != nil {
		return err
	}
	var volumes []persistentVolume
	for index := range Count {
		name := volumeName(index)
		volumes = append(volumes, newVolume(name, filepath.Join(folder, name)))
	}
	return createVolumes(ctx, client, volumes)
}

func createClass(ctx context.Context, client *kubeapi.Client, name, mode string, annotations map[string]string) error {
	type object = map[string]any
	class := object{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
		"metadata":    object{"name": name, "annotations": annotations},
		"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode,
	}
	if err := create(ctx, client, "/apis/storage.k8s.io/v1/storageclasses", class); err != nil {
		return fmt.Errorf("create the storage class %s: %w", name, err)
	}
	return nil
}

func createVolumes(ctx context.Context, client *kubeapi.Client, volumes []persistentVolume) error {
	next := make(chan persistentVolume)
	failures := make([]error, 8)
	var workers sync.WaitGroup
	for i := range failures {
		workers.Go(func() {
			for volume := range next {
				failures[i] = errors.Join(failures[i], createVolume(ctx, client, volume))
			}
		})
	}
	for _, volume := range volumes {
		next <- volume
	}
	close(next)
	workers.Wait()
	return errors.Join(failures...)
}

func createVolume(ctx context.Context, client *kubeapi.Client, volume persistentVolume) error {
	name := volume.Metadata.Name
	if err := os.MkdirAll(volume.Spec.folder(), 0o755); err != nil {
		return fmt.Errorf("create the folder of volume %s: %w", name, err)
	}
	if err := create(ctx, client, volumesPath, volume); err != nil {
		return fmt.Errorf("create volume %s: %w", name, err)
	}
	return nil
}

// create tolerates an object that is there already: recycling can be interrupted between any two steps.
func create(ctx context.Context, client *kubeapi.Client, path string, body any) error {
	err := client.Call(ctx, http.MethodPost, path, body, nil)
	if status := new(kubeapi.StatusError); errors.As(err, &status) && status.Code == http.StatusConflict {
		return nil
	}
	return err
}
