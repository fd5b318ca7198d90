package topology

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
)

// Version is the numeric part of a release such as "v8.1.0". What follows it,
// e.g. the date in "v8.1.0-20240101", says when an image was built: it does not
// make a release older or newer.
type Version struct{ v *version.Version }

// ParseVersion reads an image's tag. A tag that is no release, such as "nightly", is an error, because
// it may be older or newer than a release.
func ParseVersion(tag string) (Version, error) {
	v, err := version.ParseGeneric(tag)
	if err != nil {
		return Version{}, fmt.Errorf("%q is not a release such as v8.1.0", tag)
	}
	return Version{v}, nil
}

// Less reports whether v is an older release than w.
func (v Version) Less(w Version) bool { return v.v.LessThan(w.v) }

func (v Version) String() string { return "v" + v.v.String() }

// Released returns a release as tags are written, such as v8.5.2; "" for a version that is none. Stores
// report theirs without the v.
func Released(version string) string {
	if _, err := ParseVersion(version); err != nil {
		return ""
	}
	if strings.HasPrefix(version, "v") {
		return version
	}
	return "v" + version
}

// SameRelease reports whether two versions are equal, or builds of one release.
func SameRelease(a, b string) bool {
	if a == b {
		return true
	}
	v, err := ParseVersion(a)
	if err != nil {
		return false
	}
	w, err := ParseVersion(b)
	return err == nil && !v.Less(w) && !w.Less(v)
}

// IsDowngrade reports whether to is an older release than from. Older releases cannot read the data. It
// is an error if from or to is no release.
func IsDowngrade(from, to string) (bool, error) {
	old, err := ParseVersion(from)
	if err != nil {
		return false, fmt.Errorf("compare versions: %w", err)
	}
	next, err := ParseVersion(to)
	if err != nil {
		return false, fmt.Errorf("compare versions: %w", err)
	}
	return next.Less(old), nil
}

// Downgrade is a component that is to go to an older release.
type Downgrade struct {
	Kind     Kind
	From, To string      // versions as the two specs have them
	Field    *field.Path // the field with the older one
}

// Downgrades returns the components that an update takes to an older release which may not read
// their data. A version that is no release, such as nightly, is neither older nor newer.
func Downgrades(old *Cluster, c Cluster) []Downgrade {
	if old == nil {
		return nil
	}
	var downs []Downgrade
	for _, g := range c.Groups {
		was, ok := old.Group(g.Kind)
		if !ok || was.Version == g.Version || g.Kind.OwnReleases() {
			continue
		}
		if down, err := IsDowngrade(was.Version, g.Version); err != nil || !down {
			continue
		}
		at := field.NewPath("spec", "version")
		if own, _ := part(c.Written, g.Kind); own.Version != nil {
			at = FieldOf(c.Written, g.Kind).Child("version")
		}
		downs = append(downs, Downgrade{Kind: g.Kind, From: was.Version, To: g.Version, Field: at})
	}
	return downs
}

// MajorsApart returns how many major versions a release is newer than another release. It is 0 where
// one of the two is no release.
func MajorsApart(from, to string) int {
	old, err := ParseVersion(from)
	if err != nil {
		return 0
	}
	next, err := ParseVersion(to)
	if err != nil {
		return 0
	}
	return int(next.v.Major()) - int(old.v.Major())
}

// releaseTag matches the tag of a release, with its major version.
var releaseTag = regexp.MustCompile(`^v?(\d+)(\.\d+){0,2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// BeforeMajor reports whether a tag is of a release before v<major>.0. One that is no semantic
// version, such as v4.0.16_custom, counts as a newer one, as in tidb-operator.
func BeforeMajor(tag string, major int) bool {
	parts := releaseTag.FindStringSubmatch(tag)
	if parts == nil {
		return false
	}
	n, err := strconv.Atoi(parts[1])
	return err == nil && n < major
}
