package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
)

// findings is the page of what "doctor" looks for.
func findings() string {
	var b strings.Builder
	b.WriteString("<!-- Made by cmd/gen-docs: change pkg/core/finding/rules.go, then run make generate. -->\n# Findings\n\n" +
		"What [doctor](doctor.md) looks for: `id` of its JSON. The names stay; texts may change. `unknown` is what could not " +
		"be read, so that it is not known to be healthy.\n\n| Id | Severity | Why it matters |\n| --- | --- | --- |\n")
	for _, r := range finding.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.ID, r.Severity, r.Matters)
	}
	return b.String()
}
