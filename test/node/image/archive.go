// Package image builds container images without a container engine, as an archive that a container runtime imports.
package image

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// Image is one image of an archive. Images share the layers that they have in common.
type Image struct {
	Reference string
	Layers    []*Layer
	Env       []string
	Command   []string
	// Entrypoint is what Command is given to as its arguments; it may be empty.
	Entrypoint []string
	// User is whom it runs as, as a number; "" is root.
	User string
	// Architecture is that of the programs, as Go names it; "" is amd64.
	Architecture string
}

// Layer is a part of an image's file system.
type Layer struct {
	Entries []Entry
}

// Entry is a folder, a symbolic link or a file of a layer.
type Entry struct {
	// Path inside the image, without a leading slash. Folders end in a slash.
	Path string
	Link string
	// Source is the file to copy the content from; without it, Content is taken.
	Source  string
	Content []byte
	Mode    int64
}

// Write writes an archive of all images, each layer once.
func Write(out io.Writer, images []Image) error {
	archive := tar.NewWriter(out)
	written := map[*Layer]string{}
	type manifest struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	var manifests []manifest
	for _, image := range images {
		var digests, names []string
		for _, layer := range image.Layers {
			if _, done := written[layer]; !done {
				digest, err := writeLayer(archive, layer)
				if err != nil {
					return fmt.Errorf("write a layer of image %s: %w", image.Reference, err)
				}
				written[layer] = digest
			}
			digests = append(digests, "sha256:"+written[layer])
			names = append(names, layerName(written[layer]))
		}
		config, err := image.config(digests)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%x.json", sha256.Sum256(config))
		if err := writeFile(archive, name, config); err != nil {
			return err
		}
		manifests = append(manifests, manifest{name, []string{image.Reference}, names})
	}
	content, err := json.Marshal(manifests)
	if err != nil {
		return err
	}
	if err := writeFile(archive, "manifest.json", content); err != nil {
		return err
	}
	return archive.Close()
}

func layerName(digest string) string { return digest + "/layer.tar" }

func (i Image) config(digests []string) ([]byte, error) {
	type object = map[string]any
	// Names in a container's PATH: a start script calls busybox programs without their folder.
	env := append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, i.Env...)
	return json.Marshal(object{
		"architecture": cmp.Or(i.Architecture, "amd64"), "os": "linux", "created": time.Unix(0, 0).UTC(),
		"config": object{"Env": env, "Entrypoint": i.Entrypoint, "Cmd": i.Command, "User": i.User, "WorkingDir": "/"},
		"rootfs": object{"type": "layers", "diff_ids": digests},
	})
}

// writeLayer spools a layer to a temporary file: an archive needs its digest and size before its content.
func writeLayer(archive *tar.Writer, layer *Layer) (string, error) {
	spool, err := os.CreateTemp("", "kubectl-tidb-layer-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	sum := sha256.New()
	if err := layer.write(io.MultiWriter(spool, sum)); err != nil {
		return "", err
	}
	size, err := spool.Seek(0, io.SeekCurrent)
	if err != nil {
		return "", err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	header := &tar.Header{Name: layerName(digest), Mode: 0o644, Size: size, Format: tar.FormatPAX}
	if err := archive.WriteHeader(header); err != nil {
		return "", err
	}
	_, err = io.Copy(archive, spool)
	return digest, err
}

func (l *Layer) write(out io.Writer) error {
	archive := tar.NewWriter(out)
	for _, entry := range l.Entries {
		if err := entry.write(archive); err != nil {
			return fmt.Errorf("%s: %w", entry.Path, err)
		}
	}
	return archive.Close()
}

func (e Entry) write(archive *tar.Writer) error {
	// No times and owners: the same content must always give the same layer.
	header := &tar.Header{Name: e.Path, Mode: e.Mode, Format: tar.FormatPAX}
	switch {
	case e.Path[len(e.Path)-1] == '/':
		header.Typeflag = tar.TypeDir
		return archive.WriteHeader(header)
	case e.Link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, e.Link
		return archive.WriteHeader(header)
	case e.Source == "":
		header.Size = int64(len(e.Content))
		return writeEntry(archive, header, bytes.NewReader(e.Content))
	}
	file, err := os.Open(e.Source)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header.Size = info.Size()
	return writeEntry(archive, header, file)
}

func writeEntry(archive *tar.Writer, header *tar.Header, content io.Reader) error {
	header.Typeflag = tar.TypeReg
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}

func writeFile(archive *tar.Writer, name string, content []byte) error {
	header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Format: tar.FormatPAX}
	if err := writeEntry(archive, header, bytes.NewReader(content)); err != nil {
		return fmt.Errorf("write %s to the image archive: %w", name, err)
	}
	return nil
}
