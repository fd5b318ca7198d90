package facts

import (
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// ranRecord is what a claim records of the versions that have run on its data. It has the highest
// release, and a version that is no release and has run since, such as nightly. The latter cannot
// be compared, so it must not replace the release. Without the release a lower release would start
// on data that it cannot read.
type ranRecord struct {
	release, other string // "" for none
}

// ranOn reads the record of a claim. Its versions are separated by a blank, which no image tag
// contains.
func ranOn(c state.Claim) ranRecord {
	var r ranRecord
	for _, v := range strings.Fields(c.Identity.Annotations[topology.AnnotationRan]) {
		r.add(v)
	}
	return r
}

// add ignores latest, which earlier versions of the plugin have written for an image without a tag. It says nothing
// about the data.
func (r *ranRecord) add(version string) {
	if version == "" || version == "latest" {
		return
	}
	if _, err := topology.ParseVersion(version); err != nil {
		r.other = version
		return
	}
	if lower, err := topology.IsDowngrade(r.release, version); err != nil || !lower {
		r.release = version
	}
}

func (r ranRecord) String() string { return strings.TrimSpace(r.release + " " + r.other) }

// versions returns the recorded versions to compare with the wanted one, "" where nothing is
// recorded. A wanted version that is no release and has run last can read the data.
func (r ranRecord) versions(wanted string) []string {
	switch {
	case r.release == "", r.other != "" && r.other == wanted:
		return []string{r.other}
	case r.other == "":
		return []string{r.release}
	}
	return []string{r.release, r.other}
}

// Ran returns the record for a claim, as its annotation says it. It is "" where the pod has not run, or nothing is known of
// its version. What the process reports counts beside the tag. An image may have no tag, or a tag that names no
// release, and a process that has just started has not reported yet. The record never names a lower release than
// before. A version that is no release is dropped when a release serves: that release has read the data.
func (c Component) Ran(m state.Member, claim state.Claim) string {
	if c.Want.Kind.Data() == topology.None || m.Pod == nil || !m.Pod.Ran || !slices.Contains(m.Pod.Claims, claim.Name) {
		return ""
	}
	r, reported, tag := ranOn(claim), m.Reported(), topology.Released(m.Pod.Version)
	if m.Up() && (reported != "" || tag != "") {
		r.other = ""
	}
	r.add(reported)
	if reported == "" || tag != "" {
		r.add(m.Pod.Version)
	}
	return r.String()
}
