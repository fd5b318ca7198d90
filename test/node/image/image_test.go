package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/build"
)

func readTar(t *testing.T, content []byte) (map[string][]byte, []string) {
	t.Helper()
	files := map[string][]byte{}
	var names []string
	for archive := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, names
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = body
		names = append(names, header.Name)
	}
}

func sampleImages(t *testing.T) []Image {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	base := &Layer{Entries: []Entry{
		{Path: "bin/", Mode: 0o755}, {Path: "bin/sh", Link: "busybox"},
		{Path: "etc/x", Mode: 0o644, Content: []byte("text")},
	}}
	top := &Layer{Entries: []Entry{{Path: "server", Mode: 0o755, Source: program}}}
	return []Image{
		{Reference: "docker.io/a/b:1", Layers: []*Layer{base, top}, Env: []string{"VERSION=1"}, Command: []string{"/server"}},
		{Reference: "docker.io/a/b:2", Layers: []*Layer{base, top}, Env: []string{"VERSION=2"}},
	}
}

func TestWriteDescribesImagesAndSharesLayers(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, sampleImages(t)); err != nil {
		t.Fatal(err)
	}
	files, names := readTar(t, out.Bytes())
	if len(names) != 2+2+1 {
		t.Errorf("archive holds %v; want two layers, two configurations and the manifest", names)
	}
	var manifests []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifests); err != nil {
		t.Fatal(err)
	}
	for i, manifest := range manifests {
		if want := fmt.Sprintf("docker.io/a/b:%d", i+1); !slices.Equal(manifest.RepoTags, []string{want}) {
			t.Errorf("tags are %v, want %s", manifest.RepoTags, want)
		}
		var config struct {
			Config struct{ Env, Cmd []string }
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		if err := json.Unmarshal(files[manifest.Config], &config); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(config.Config.Env, fmt.Sprintf("VERSION=%d", i+1)) {
			t.Errorf("environment is %v", config.Config.Env)
		}
		for j, layer := range manifest.Layers {
			if want := fmt.Sprintf("sha256:%x", sha256.Sum256(files[layer])); config.RootFS.DiffIDs[j] != want {
				t.Errorf("layer %d has the digest %s, want %s", j, config.RootFS.DiffIDs[j], want)
			}
		}
		content, _ := readTar(t, files[manifest.Layers[1]])
		if string(content["server"]) != "binary" {
			t.Errorf("the program's layer holds %v", content)
		}
	}
}

func TestPluginIsNotRoot(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(&out, []Image{Plugin("ghcr.io/a/b:1", program, "arm64")}); err != nil {
		t.Fatal(err)
	}
	files, _ := readTar(t, out.Bytes())
	var manifests []struct{ Config, Layers any }
	if err := json.Unmarshal(files["manifest.json"], &manifests); err != nil {
		t.Fatal(err)
	}
	var config struct {
		Architecture string
		Config       struct {
			User            string
			Entrypoint, Cmd []string
		}
	}
	if err := json.Unmarshal(files[manifests[0].Config.(string)], &config); err != nil {
		t.Fatal(err)
	}
	content, _ := readTar(t, files[manifests[0].Layers.([]any)[0].(string)])
	program = config.Config.Entrypoint[0]
	if string(content[program[1:]]) != "binary" || len(config.Config.Entrypoint) != 1 || len(config.Config.Cmd) > 0 {
		t.Errorf("it runs %q %q", config.Config.Entrypoint, config.Config.Cmd)
	}
	if config.Config.User != "65532:65532" || config.Architecture != "arm64" || !bytes.Contains(content["etc/passwd"], []byte(":65532:65532:")) {
		t.Errorf("it runs as %q on %s; users are %q", config.Config.User, config.Architecture, content["etc/passwd"])
	}
}

func TestWriteIsReproducible(t *testing.T) {
	var first, second bytes.Buffer
	if err := errors.Join(Write(&first, sampleImages(t)), Write(&second, sampleImages(t))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same images give different archives")
	}
}

func TestWriteNamesTheMissingFile(t *testing.T) {
	images := []Image{{Reference: "a", Layers: []*Layer{{Entries: []Entry{{Path: "x", Source: "/nonexistent"}}}}}}
	if err := Write(io.Discard, images); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

func TestParseLibraries(t *testing.T) {
	output := "\tlinux-vdso.so.1 (0x00007f)\n\tlibresolv.so.2 => /lib/x/libresolv.so.2 (0x00)\n" +
		"\tlibgone.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x00)\n"
	want := []string{"/lib/x/libresolv.so.2", "/lib64/ld-linux-x86-64.so.2"}
	if got := parseLibraries(output); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCatalogHasTwoVersionsOfEveryComponent(t *testing.T) {
	set := build.Set{}
	for _, part := range build.Parts() {
		set[part.Name] = "/cache/" + part.Name
	}
	references := map[string]Image{}
	for _, image := range Catalog(set, &Layer{}) {
		references[image.Reference] = image
	}
	versions := []string{build.OldVersion, build.NewVersion}
	for component, want := range map[string]struct {
		program  string
		versions []string
	}{
		"pd": {"pd-server", versions}, "tikv": {"tikv-server", versions}, "tidb": {"tidb-server", versions},
		"tidb-binlog": {"pump", versions}, "ticdc": {"cdc", versions}, "br": {"br", versions},
		"tiflash": {"tiflash/tiflash", versions},
		"tiproxy": {"bin/tiproxy", []string{build.OldTiProxy, build.NewTiProxy}},
	} {
		for _, version := range want.versions {
			image, found := references["docker.io/pingcap/"+component+":"+version]
			if !found {
				t.Errorf("there is no image of %s %s", component, version)
				continue
			}
			entries := image.Layers[len(image.Layers)-1].Entries
			entry := entries[len(entries)-1]
			if entry.Path != want.program || entry.Source == "" || entry.Mode != 0o755 {
				t.Errorf("image of %s %s has the program %+v", component, version, entry)
			}
		}
	}
	for _, other := range []string{Pause, "docker.io/kubectl-tidb/s3:" + build.S3Version} {
		if _, found := references[other]; !found {
			t.Errorf("there is no image %s", other)
		}
	}
}

func TestKeyFollowsContent(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	images := func(content string, mode int64) []Image {
		if err := os.WriteFile(program, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		return []Image{{Reference: "a", Layers: []*Layer{{Entries: []Entry{{Path: "p", Source: program, Mode: mode}}}}}}
	}
	first := key(images("one", 0o755))
	if key(images("longer", 0o755)) == first {
		t.Error("a changed program does not change the key")
	}
	if key(images("one", 0o700)) == first {
		t.Error("a changed mode does not change the key")
	}
}

func TestRemoveOthersKeepsTheNewArchive(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"images-old.tar", "images-new.tar", "store-1"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	removeOthers(filepath.Join(folder, "images-new.tar"))
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 || entries[0].Name() != "images-new.tar" {
		t.Errorf("left are %v, %v", entries, err)
	}
}

func TestCatalogLeavesOutWhatIsNotBuilt(t *testing.T) {
	set := build.Set{build.Pause: "pause", build.Versioned(build.PD, build.OldVersion): "pd"}
	var references []string
	for _, image := range Catalog(set, &Layer{}) {
		references = append(references, image.Reference)
	}
	want := []string{
		Pause, "docker.io/library/busybox:latest", "docker.io/library/busybox:1.26.2", "docker.io/pingcap/pd:" + build.OldVersion,
	}
	if !slices.Equal(references, want) {
		t.Errorf("images are %v", references)
	}
}
