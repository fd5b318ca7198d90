package topology

import (
	"fmt"
	"path"
	"slices"

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
	// Class is the storage class that the user asks for, "" for any.
	Class string
	// Attributes is the VolumeAttributesClass that the user asks for, "" for any.
	Attributes string
	// Path is where the pod mounts a volume that the user adds, "" for nowhere. The volumes with the component's data
	// have none here.
	Path string
}

// Excludes reports whether a claim with a storage class and a size can never become like the volume. A claim keeps its
// class and never becomes smaller.
func (v Volume) Excludes(class string, size Size) bool {
	return v.Class != "" && v.Class != class || size > v.Size
}

// OtherVolumes reports whether a volume of members is removed or mounted at another path. No volume can be added.
func (g Group) OtherVolumes(before Group) bool {
	return slices.ContainsFunc(before.Volumes, func(have Volume) bool {
		v, stays := g.Volume(have.Name)
		return !stays || v.MovedFrom(have.Path)
	})
}

// MovedFrom reports whether a pod that mounts the volume at a path would find its data at another one.
func (v Volume) MovedFrom(path string) bool { return v.Path != "" && path != "" && v.Path != path }

// cleaned returns a path in its shortest form, "" for none.
func cleaned(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
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
func volumes(k Kind, spec component) []Volume {
	var all []Volume
	for _, d := range spec.disks {
		if size, at, ok := d.size(); ok {
			class, attributes := fieldValue(spec.class), spec.attributes
			if d.class != nil {
				class, attributes = *d.class, d.attributes
			}
			all = append(all, Volume{
				Name: d.volume, Size: SizeOf(size), Field: at.String(), Class: classWith(attributes, class), Attributes: nameOf(attributes),
			})
		}
	}
	for i, v := range spec.volumes {
		if size, err := resource.ParseQuantity(v.StorageSize); err == nil {
			attributes := ownOr(v.VolumeAttributesClassName, spec.attributes)
			all = append(all, Volume{
				Name: string(k) + "-" + v.Name, Size: SizeOf(size),
				Field: fmt.Sprintf("spec.%s.storageVolumes[%d].storageSize", k, i),
				Class: classWith(attributes, ownOr(v.StorageClassName, fieldValue(spec.class))), Attributes: nameOf(attributes),
				Path: cleaned(v.MountPath),
			})
		}
	}
	return all
}

// classWith returns the storage class that a volume is to have, "" for any. Beside a VolumeAttributesClass, another
// storage class has no effect on a claim that exists, as in tidb-operator.
func classWith(attributes, class *string) string {
	if attributes != nil || class == nil {
		return ""
	}
	return *class
}

// nameOf returns a name, "" for none.
func nameOf(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

// fieldValue returns the value of a field, nil where there is no field.
func fieldValue(field **string) *string {
	if field == nil {
		return nil
	}
	return *field
}

// ownOr returns a class of a volume, or the class of the component where the volume has none. An empty name is none.
func ownOr(own, component *string) *string {
	if own != nil && *own != "" {
		return own
	}
	return component
}
