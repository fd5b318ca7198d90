package topology

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// misplaced are the wrong paths under which the API module reports some errors, with the right
// ones. A user searches the path in the manifest.
var misplaced = []struct {
	pattern *regexp.Regexp
	path    string
}{
	{regexp.MustCompile(`^metadata\.annotations\.(.+)$`), `metadata.annotations[$1]`},
	{regexp.MustCompile(`^spec\.(pd|tidb)\.spec\.LoadBalancerSourceRanges$`), `spec.$1.service.loadBalancerSourceRanges`},
	{regexp.MustCompile(`^(spec\.\w+\.requests\.storage)\[storage\]$`), `$1`},
	{regexp.MustCompile(`^(spec\.\w+\.scalePolicy)\.ScaleInParallelism$`), `$1.scaleInParallelism`},
	{regexp.MustCompile(`^(spec\.\w+\.scalePolicy)\.ScaleOutParallelism$`), `$1.scaleOutParallelism`},
	{regexp.MustCompile(`^spec\.tiflash\.spec\.StorageClaims.*$`), `spec.tiflash.storageClaims`},
	{regexp.MustCompile(`^spec\.tiflash\.config\.config\.(.+)$`), `spec.tiflash.config[$1]`},
	{regexp.MustCompile(`^spec\.pump\.spec\.Requests$`), `spec.pump.requests.storage`},
}

// unsaid are fields for which the API module does not say what to do. They are named by the end of their path.
var unsaid = []struct {
	kind        field.ErrorType
	end, detail string
}{
	{field.ErrorTypeRequired, "].name", "must have a name"},
	{field.ErrorTypeRequired, "Ref.key", "must name a key of it"},
	{field.ErrorTypeRequired, ".requests.storage", "must say how much storage a member gets, such as 10Gi"},
	{field.ErrorTypeInvalid, ".requests.storage", "must say how much storage a member gets, such as 10Gi"},
	{field.ErrorTypeInvalid, ".evictLeaderTimeout", "must be a positive duration such as 25m"},
	{field.ErrorTypeInvalid, ".scaleInParallelism", "must be 1 or more"},
	{field.ErrorTypeInvalid, ".scaleOutParallelism", "must be 1 or more"},
	{field.ErrorTypeInvalid, ".loadBalancerSourceRanges", "must be ranges of addresses such as 10.0.0.0/24"},
	{field.ErrorTypeInvalid, ".storageClaims", "must have one entry or more, each with a storage request"},
}

// imageOfPatch matches the image of an additional container. A container with the name of a built-in container
// is merged into that container, and needs no image. Which names these are is known when the pod is rendered.
var imageOfPatch = regexp.MustCompile(`\.additionalContainers\[\d+\]\.image$`)

// withAdvice returns errors of the API module with the right path, and with what to do about them. Its
// errors about volumes are left out: validateVolumes reports them with paths.
func withAdvice(errs field.ErrorList, tc *v1alpha1.TidbCluster) field.ErrorList {
	var out field.ErrorList
	for _, e := range errs {
		if e.Field == "" || strings.HasSuffix(e.Field, ".volumeName") || imageOfPatch.MatchString(e.Field) {
			continue
		}
		for _, m := range misplaced {
			e.Field = m.pattern.ReplaceAllString(e.Field, m.path)
		}
		for i, ms := range tc.Spec.PDMS {
			if rest, ok := strings.CutPrefix(e.Field, "spec."+ms.Name+"."); ok && ms.Name != "" {
				e.Field = fmt.Sprintf("spec.pdms[%d].%s", i, rest)
			}
		}
		for _, u := range unsaid {
			if e.Type == u.kind && strings.HasSuffix(e.Field, u.end) {
				e.Detail = u.detail
			}
		}
		switch e.BadValue.(type) {
		case string, *string, int32:
		default: // a printed Go struct does not help the user
			e.BadValue = field.OmitValueType{}
		}
		out = append(out, e)
	}
	return out
}
