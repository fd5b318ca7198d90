package volume

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
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

func TestADiskBelongsToItsHost(t *testing.T) {
	disk := newDisk("node1-disk-03", filepath.Join(folder, "node1-disk-03"), "node1")
	encoded, err := json.Marshal(disk.Spec)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"storageClassName":"host-disk","local":{"path":"/state/volumes/node1-disk-03"},` +
		`"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":` +
		`[{"key":"kubernetes.io/hostname","operator":"In","values":["node1"]}]}]}}}`
	if !strings.HasSuffix(string(encoded), want) {
		t.Errorf("made %s", encoded)
	}
}

func TestADiskIsWipedAndGivenBack(t *testing.T) {
	disk := newDisk("node1-disk-03", filepath.Join(folder, "node1-disk-03"), "node1")
	made := disk
	disk.Metadata.UID, disk.Metadata.ResourceVersion, disk.Status = "u", "7", &status{Phase: released}
	if !recyclable(disk, folder) {
		t.Error("a released disk is not recycled")
	}
	if got := fresh(disk); !reflect.DeepEqual(got, made) {
		t.Errorf("given back as %+v", got)
	}
	disk.Spec.Local.Path = "/etc"
	if recyclable(disk, folder) {
		t.Error("a disk in another folder would be wiped")
	}
}
