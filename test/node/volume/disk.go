package volume

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/kubeapi"
)

const (
	// DiskClass is the storage class of disks, each of which is in one host.
	DiskClass = "host-disk"
	// DisksPerHost: a host of a test has a few stores and a member of PD.
	DisksPerHost = 20

	hostnameLabel = "kubernetes.io/hostname"
)

// nodeAffinity holds the fields that say which host a volume is in.
type nodeAffinity struct {
	Required struct {
		Terms []term `json:"nodeSelectorTerms"`
	} `json:"required"`
}

type term struct {
	Expressions []expression `json:"matchExpressions"`
}

type expression struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// newDisk describes a free disk of a host. A pod with data on it runs there or nowhere.
func newDisk(name, folder, host string) persistentVolume {
	disk := newVolume(name, folder)
	disk.Spec.StorageClassName = DiskClass
	disk.Spec.HostPath, disk.Spec.Local = nil, &hostPath{Path: folder}
	disk.Spec.NodeAffinity = new(nodeAffinity)
	disk.Spec.NodeAffinity.Required.Terms = []term{{[]expression{{hostnameLabel, "In", []string{host}}}}}
	return disk
}

// CreateDisks makes the disks of a host, and their storage class if it is not there.
func CreateDisks(ctx context.Context, client *kubeapi.Client, folder, host string) error {
	// The host of a pod is chosen first, then one of that host's disks.
	if err := createClass(ctx, client, DiskClass, "WaitForFirstConsumer", nil); err != nil {
		return err
	}
	var disks []persistentVolume
	for index := range DisksPerHost {
		name := fmt.Sprintf("%s-disk-%02d", host, index)
		disks = append(disks, newDisk(name, filepath.Join(folder, name), host))
	}
	return createVolumes(ctx, client, disks)
}
