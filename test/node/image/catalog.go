package image

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/build"
)

const (
	// Pause holds a pod's namespaces open.
	Pause = "registry.k8s.io/pause:3.10"

	registry = "docker.io/"

	// rclone is linked with the C library, which the base layer has.
	rclone = "/usr/bin/rclone"
)

// Catalog lists the images that the node has, in the order in which they are written. Those of programs that are not
// built are left out.
func Catalog(programs build.Set, base *Layer) []Image {
	built := func(part string) string { return cmp.Or(programs[part], notBuilt) }
	program := func(path, part string) *Layer {
		return &Layer{Entries: []Entry{{Path: path, Mode: 0o755, Source: built(part)}}}
	}
	pause, store, pump := program("pause", build.Pause), program("tikv-server", build.Store), program("pump", build.Pump)
	// The same program under another name.
	tiflash := &Layer{Entries: []Entry{
		{Path: "tiflash/", Mode: 0o755}, {Path: "tiflash/tiflash", Mode: 0o755, Source: built(build.Store)},
	}}
	ticdc, tiproxy := program("cdc", build.TiCDC), program("bin/tiproxy", build.TiProxy)
	images := []Image{
		{Reference: Pause, Layers: []*Layer{pause}, Command: []string{"/pause"}},
		{Reference: registry + "library/busybox:latest", Layers: []*Layer{base}, Command: []string{"/bin/sh"}},
		// What TiDB's slow log is followed with, unless the TidbCluster names another image.
		{Reference: registry + "library/busybox:1.26.2", Layers: []*Layer{base}, Command: []string{"/bin/sh"}},
	}
	for _, version := range []string{build.OldVersion, build.NewVersion} {
		images = append(images, Image{
			Reference: registry + "pingcap/pd:" + version,
			Layers:    []*Layer{base, program("pd-server", build.Versioned(build.PD, version))}, Command: []string{"/pd-server"},
		}, Image{
			Reference: registry + "pingcap/tikv:" + version,
			Layers:    []*Layer{base, store}, Command: []string{"/tikv-server"},
			// One program for all versions of the store, which registers the version that it finds here.
			Env: []string{"STORE_VERSION=" + version},
		}, Image{
			Reference: registry + "pingcap/tiflash:" + version,
			Layers:    []*Layer{base, tiflash}, Command: []string{"/tiflash/tiflash"}, Env: []string{"STORE_VERSION=" + version},
		}, Image{
			Reference: registry + "pingcap/tidb:" + version,
			Layers:    []*Layer{base, program("tidb-server", build.Versioned(build.TiDB, version))}, Command: []string{"/tidb-server"},
		}, Image{
			Reference: registry + "pingcap/tidb-binlog:" + version,
			Layers:    []*Layer{base, pump}, Command: []string{"/pump"},
		}, Image{
			Reference: registry + "pingcap/ticdc:" + version,
			Layers:    []*Layer{base, ticdc}, Command: []string{"/cdc"}, Env: []string{"TICDC_VERSION=" + version},
		}, Image{
			Reference: registry + "pingcap/br:" + version,
			Layers:    []*Layer{base, program("br", build.Versioned(build.BR, version))}, Entrypoint: []string{"/br"},
		})
	}
	deletes := rclone
	if programs[build.S3] == "" {
		deletes = notBuilt // there is no bucket
	}
	images = append(images, Image{
		Reference: registry + "kubectl-tidb/s3:" + build.S3Version,
		Layers:    []*Layer{base, program("s3", build.S3)}, Command: []string{"/s3"},
	}, Image{
		Reference: registry + "rclone/rclone:" + build.RcloneVersion, Entrypoint: []string{"rclone"},
		Layers: []*Layer{base, {Entries: []Entry{{Path: "usr/local/bin/rclone", Mode: 0o755, Source: deletes}}}},
	})
	for _, version := range []string{build.OldTiProxy, build.NewTiProxy} {
		images = append(images, Image{
			Reference: registry + "pingcap/tiproxy:" + version,
			Layers:    []*Layer{base, tiproxy}, Command: []string{"/bin/tiproxy"}, Env: []string{"TIPROXY_VERSION=" + version},
		})
	}
	return slices.DeleteFunc(images, func(i Image) bool { return !i.complete() })
}

// complete reports whether everything is there that the image is made of.
func (i Image) complete() bool {
	for _, layer := range i.Layers {
		for _, entry := range layer.Entries {
			if entry.Source == notBuilt {
				return false
			}
		}
	}
	return true
}

// notBuilt is the source of a program that is not built.
const notBuilt = "not built"

// Archive returns an archive of all images, which is written only if the cache folder does not have it yet.
func Archive(programs build.Set, cache string, progress io.Writer) (string, error) {
	base, err := Base()
	if err != nil {
		return "", err
	}
	images := Catalog(programs, base)
	path := filepath.Join(cache, "images-"+key(images)+".tar")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look up the image archive: %w", err)
	}
	started := time.Now()
	unfinished := fmt.Sprintf("%s.unfinished-%d", path, os.Getpid())
	defer os.Remove(unfinished)
	file, err := os.Create(unfinished)
	if err != nil {
		return "", fmt.Errorf("create the image archive: %w", err)
	}
	defer file.Close()
	if err := Write(file, images); err != nil {
		return "", fmt.Errorf("write the image archive: %w", err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return "", fmt.Errorf("keep the image archive: %w", err)
	}
	removeOthers(path)
	fmt.Fprintf(progress, "images written in %s\n", time.Since(started).Round(time.Second/10))
	return path, nil
}

// removeOthers drops the archives of earlier builds, the largest files of the cache: writing one again takes a second.
func removeOthers(path string) {
	others, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "images-*.tar"))
	for _, other := range others {
		if other != path {
			_ = os.Remove(other)
		}
	}
}

// key identifies an archive by what is in it. Names of cached programs are keys of their content
// already; files of the distribution are distinguished by size and time.
func key(images []Image) string {
	sum := sha256.New()
	for _, image := range images {
		fmt.Fprintf(sum, "%q %q %q %q\n", image.Reference, image.Env, image.Entrypoint, image.Command)
		for _, layer := range image.Layers {
			for _, entry := range layer.Entries {
				fmt.Fprintf(sum, "%q %q %q %q %o", entry.Path, entry.Link, entry.Source, entry.Content, entry.Mode)
				if info, err := os.Stat(entry.Source); err == nil {
					fmt.Fprintf(sum, " %d %d", info.Size(), info.ModTime().UnixNano())
				}
				fmt.Fprintln(sum)
			}
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))[:16]
}
