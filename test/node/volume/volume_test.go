package volume

import (
	"path/filepath"
	"testing"
)

const folder = "/state/volumes"

func releasedVolume() persistentVolume {
	made := newVolume("local-001", filepath.Join(folder, "local-001"))
	made.Status = &status{Phase: released}
	return made
}

func TestOnlyOwnReleasedVolumesAreWiped(t *testing.T) {
	if !recyclable(releasedVolume(), folder) {
		t.Error("a released volume of the node is not recycled")
	}
	for what, change := range map[string]func(*persistentVolume){
		"a volume without the node's label": func(v *persistentVolume) { v.Metadata.Labels = nil },
		"a bound volume":                    func(v *persistentVolume) { v.Status.Phase = "Bound" },
		"an available volume":               func(v *persistentVolume) { v.Status.Phase = "Available" },
		"a volume without a status":         func(v *persistentVolume) { v.Status = nil },
		"a volume of another kind":          func(v *persistentVolume) { v.Spec.HostPath = nil },
		"a volume in another folder":        func(v *persistentVolume) { v.Spec.HostPath.Path = "/etc" },
		"a volume that climbs out":          func(v *persistentVolume) { v.Spec.HostPath.Path = folder + "/local-001/.." },
		"a volume of another's folder":      func(v *persistentVolume) { v.Metadata.Name = "local-002" },
	} {
		changed := releasedVolume()
		change(&changed)
		if recyclable(changed, folder) {
			t.Errorf("%s would be wiped", what)
		}
	}
}

func TestNewVolume(t *testing.T) {
	made := newVolume(volumeName(7), "/x/local-007")
	if made.Metadata.Name != "local-007" || made.Spec.ReclaimPolicy != "Retain" || made.Spec.StorageClassName != Class {
		t.Errorf("made %+v", made)
	}
}
