package intent

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// amount matches what users write for an amount. That is a number, perhaps in quotation marks of a text program, and
// a unit.
var amount = regexp.MustCompile(`^\s*["'“”„‘’«»]*\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]*)\s*["'“”„‘’«»]*\s*$`)

// units has the suffixes of Kubernetes by what users write instead, in lower case.
var units = map[string][]string{
	"k": {"Ki", "k"}, "kb": {"Ki", "k"}, "ki": {"Ki"}, "kib": {"Ki"},
	"m": {"Mi", "M"}, "mb": {"Mi", "M"}, "mi": {"Mi"}, "mib": {"Mi"},
	"g": {"Gi", "G"}, "gb": {"Gi", "G"}, "gi": {"Gi"}, "gib": {"Gi"},
	"t": {"Ti", "T"}, "tb": {"Ti", "T"}, "ti": {"Ti"}, "tib": {"Ti"},
	"p": {"Pi", "P"}, "pb": {"Pi", "P"}, "pi": {"Pi"}, "pib": {"Pi"},
	"milli": {"m"}, "millis": {"m"}, "mcpu": {"m"}, "millicpu": {"m"}, "millicores": {"m"},
	"cpu": {""}, "cpus": {""}, "core": {""}, "cores": {""}, "vcpu": {""}, "b": {""}, "bytes": {""},
	"kilobyte": {"Ki", "k"}, "megabyte": {"Mi", "M"}, "gigabyte": {"Gi", "G"}, "terabyte": {"Ti", "T"},
}

// noQuantity says why a value is no quantity of Kubernetes, with the quantities that may be meant.
func noQuantity(v any) string {
	const otherwise = "such as 500m or 2 for CPU, and 100Gi or 100G for memory and storage"
	what := "is " + shown(v) + ", which is no quantity"
	text, ok := v.(string)
	if !ok {
		return what + " " + otherwise
	}
	m := amount.FindStringSubmatch(text)
	if m == nil {
		return what + " " + otherwise
	}
	suffixes := units[strings.ToLower(m[2])]
	if suffixes == nil {
		suffixes = units[strings.TrimSuffix(strings.ToLower(m[2]), "s")]
	}
	if m[2] == "" {
		suffixes = []string{""}
	}
	var meant []string
	for _, s := range suffixes {
		if q := m[1] + s; valid(q) {
			meant = append(meant, q)
		}
	}
	if len(meant) == 0 {
		return what + " " + otherwise
	}
	return what + ": write " + strings.Join(meant, " or ")
}

func valid(quantity string) bool {
	_, err := resource.ParseQuantity(quantity)
	return err == nil
}
