package main

import (
	"fmt"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// reasons is the page of what an operation waits for, and of what notices are about.
func reasons() string {
	var b strings.Builder
	b.WriteString("<!-- Made by cmd/gen-docs: change pkg/core/plan/reason.go or pkg/core/event/notice.go, then run make generate. -->\n# Reasons\n\n" +
		"What an operation waits for: `reason` in [events](../events.md), in `status -o json`, in the log of a daemon, and the " +
		"label `reason` of the [metric](../metrics.md) of waits. The names stay; messages may change.\n\n" +
		"| Reason | What it waits for | As long as it waits |\n| --- | --- | --- |\n")
	for _, r := range plan.Reasons() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Reason, r.Text, r.State)
	}
	b.WriteString("\n## Reasons of notices\n\nWhat a `notice` of [events](../events.md) is about, and a finding of `status -o json`. A notice with " +
		"something that a person can do is a Kubernetes Event of this reason as well. The names stay; messages may change.\n\n" +
		"| Reason | What it is about |\n| --- | --- |\n")
	for _, r := range event.NoticeReasons() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Reason, r.Text)
	}
	return b.String()
}
