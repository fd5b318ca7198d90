package topology

import (
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Size is an amount of storage in bytes.
type Size int64

// SizeOf returns a quantity as a Size. A fraction of a byte is rounded up.
func SizeOf(q resource.Quantity) Size { return Size(q.Value()) }

// Quantity returns the size as Kubernetes writes it, in the shortest form.
func (s Size) Quantity() resource.Quantity {
	const mi, m = 1 << 20, 1_000_000
	format := resource.BinarySI
	if s%mi != 0 && s%m == 0 {
		format = resource.DecimalSI
	}
	return *resource.NewQuantity(int64(s), format)
}

func (s Size) String() string {
	q := s.Quantity()
	return q.String()
}

// Volume is a claim that each member of a component has.
type Volume struct {
	Name string // of the claim template, e.g. "tikv" or "tikv-wal"
	Size Size
	// Field is the field of the spec with its size.
	Field string
}

// Volume returns a volume by the name of its claim template.
func (g Group) Volume(name string) (Volume, bool) {
	for _, v := range g.Volumes {
		if v.Name == name {
			return v, true
		}
	}
	return Volume{}, false
}

// volumes returns the volumes of a component: for its data, if it asks for storage, and what the
// user adds. Validate reports a size that cannot be read.
func volumes(k Kind, disks []disk, added []v1alpha1.StorageVolume) []Volume {
	var all []Volume
	for _, d := range disks {
		if size, at, ok := d.size(); ok {
			all = append(all, Volume{Name: d.volume, Size: SizeOf(size), Field: at.String()})
		}
	}
	for i, v := range added {
		if size, err := resource.ParseQuantity(v.StorageSize); err == nil {
			all = append(all, Volume{
				Name: string(k) + "-" + v.Name, Size: SizeOf(size),
				Field: fmt.Sprintf("spec.%s.storageVolumes[%d].storageSize", k, i),
			})
		}
	}
	return all
}
