package topology

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// withoutV matches a release without the letter that its image has in front.
var withoutV = regexp.MustCompile(`^\d+\.\d+\.\d+`)

// moving are tags that name another image tomorrow.
var moving = []string{"latest", "nightly", "master"}

// warningsOfImages lists versions whose images do not exist under this name, or are another release one day.
// A registry of one's own may have such tags, so they are no reason to refuse.
func warningsOfImages(old *Cluster, c Cluster) []Warning {
	var warnings []Warning
	var said []string
	for _, g := range c.Groups {
		if old != nil {
			if was, ok := old.Group(g.Kind); ok && was.Version == g.Version {
				continue // the user has seen what becomes of it
			}
		}
		at := field.NewPath("spec", "version")
		if own, _ := part(c.Written, g.Kind); own.Version != nil {
			at = FieldOf(c.Written, g.Kind).Child("version")
		}
		if slices.Contains(said, at.String()) {
			continue
		}
		switch {
		case withoutV.MatchString(g.Version):
			warnings = append(warnings, warn(at, fmt.Sprintf("is %s, and the images of PingCAP have a v in front: v%[1]s", g.Version)))
		case slices.Contains(moving, g.Version):
			warnings = append(warnings, warn(at, fmt.Sprintf("is %s, which is another release with each pull: members may run different ones, "+
				"and an upgrade cannot be told from a downgrade; name a release such as v8.1.0", g.Version)))
		default:
			continue
		}
		said = append(said, at.String())
	}
	return warnings
}

// operatorScheduler is the scheduler of tidb-operator, which clusters of old releases name.
const operatorScheduler = "tidb-scheduler"

// warningsOfSchedulers lists the fields that name the scheduler of tidb-operator. It is part of few installations,
// and no pod is scheduled where it does not run.
func warningsOfSchedulers(tc *v1alpha1.TidbCluster) []Warning {
	const text = "is tidb-scheduler, which is part of tidb-operator and optional there: where it does not run, " +
		"pods stay Pending; take the field out to use the scheduler of Kubernetes"
	var warnings []Warning
	if tc.Spec.SchedulerName == operatorScheduler {
		warnings = append(warnings, warn(field.NewPath("spec", "schedulerName"), text))
	}
	for _, k := range Kinds() {
		if spec, ok := part(tc, k); ok && spec.SchedulerName != nil && *spec.SchedulerName == operatorScheduler {
			warnings = append(warnings, warn(FieldOf(tc, k).Child("schedulerName"), text))
		}
	}
	return warnings
}
