package target

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// release matches the tag of an image of a release, e.g. v8.1.0 or v8.1.0-20240101.
	release = regexp.MustCompile(`^v\d+\.\d+\.\d+([-_][A-Za-z0-9_.-]+)?$`)
	// numbers matches the one to three numbers of a release that is not written in full.
	numbers = regexp.MustCompile(`^[vV]?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-_][A-Za-z0-9_.-]+)?$`)
	// tag matches everything that can be the tag of an image.
	tag = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
)

// CheckVersion refuses what cannot be the tag of a TiDB image. Otherwise a pod would find that there is no such
// image. The old version is that of the cluster, "" for none. Where the old version is no tag of a release either,
// the cluster's images come from a place with other tags. Then any tag can be right.
func CheckVersion(version, old string) error {
	switch {
	case official(version):
		return nil
	case !tag.MatchString(version):
		return fmt.Errorf("%q cannot be the tag of an image; a version is written like v8.1.0", version)
	case old != "" && !official(old):
		return nil
	}
	if full := complete(version); full != "" {
		return fmt.Errorf("there is no image of version %q; did you mean %s?", version, full)
	}
	return fmt.Errorf("%q is not a release such as v8.1.0 or v8.1.0-custom, and neither nightly nor latest; "+
		"for images with other tags, write the tag as spec.version in the TidbCluster", version)
}

// official reports whether PingCAP gives its images such tags.
func official(version string) bool {
	return version == "nightly" || version == "latest" || release.MatchString(version)
}

// complete returns a version in the form of a release, "" where it is not known.
func complete(version string) string {
	m := numbers.FindStringSubmatch(version)
	if m == nil {
		return ""
	}
	parts := m[1:4]
	for i := range parts {
		if parts[i] == "" {
			parts[i] = "0"
		}
	}
	return "v" + strings.Join(parts, ".") + m[4]
}
