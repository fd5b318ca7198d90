package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// reasons is the page of what an operation waits for.
func reasons() string {
	var b strings.Builder
	b.WriteString("<!-- Made by cmd/gen-docs: change pkg/core/plan/reason.go, then run make generate. -->\n# Reasons\n\n" +
		"What an operation waits for: `reason` in [events](../events.md), in `status -o json`, in the log of a daemon, and the " +
		"label `reason` of the [metric](../metrics.md) of waits. The names stay; messages may change.\n\n" +
		"| Reason | What it waits for | As long as it waits |\n| --- | --- | --- |\n")
	for _, r := range plan.Reasons() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Reason, r.Text, r.State)
	}
	return b.String()
}
