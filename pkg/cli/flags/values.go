package flags

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// span is a duration that must be positive: zero could mean "at once" or "never".
type span time.Duration

// Set implements pflag.Value.
func (l *span) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("it has to be a duration above zero, such as 90s or 10m")
	}
	*l = span(d)
	return nil
}

// String implements pflag.Value.
func (l *span) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}

// Type implements pflag.Value.
func (l *span) Type() string { return "duration" }

// count is a number that must be positive: with zero nothing would move.
type count int

// Set implements pflag.Value.
func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("it has to be a number from 1 on; with 0 no leader would move")
	}
	*c = count(n)
	return nil
}

// String implements pflag.Value.
func (c *count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.Itoa(int(*c))
}

// Type implements pflag.Value.
func (c *count) Type() string { return "int" }

// lapses are the words for the values of plan.Lapse. There is none for the default.
var lapses = [...]string{plan.Default: "", plan.Proceed: "proceed", plan.Fail: "fail", plan.Persist: "wait"}

type lapse plan.Lapse

// Set implements pflag.Value.
func (l *lapse) Set(s string) error {
	for i, word := range lapses {
		if s != "" && s == word {
			*l = lapse(i)
			return nil
		}
	}
	return errors.New("it has to be one of " + strings.Join(lapses[plan.Proceed:], ", "))
}

// String implements pflag.Value.
func (l *lapse) String() string { return lapses[*l] }

// Type implements pflag.Value.
func (l *lapse) Type() string { return "action" }

// canary is a component and a number of members, as the annotation has it.
type canary string

// Set implements pflag.Value.
func (c *canary) Set(s string) error {
	parsed, err := topology.ParseCanary(s)
	if err == nil {
		*c = canary(parsed.String())
	}
	return err
}

// String implements pflag.Value.
func (c *canary) String() string { return string(*c) }

// Type implements pflag.Value.
func (c *canary) Type() string { return "string" }

// concurrency is a number of members, or a share of the members of a component.
type concurrency plan.Concurrency

// Set implements pflag.Value.
func (c *concurrency) Set(s string) error {
	number, percent := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 1:
		return errors.New("it has to be a number from 1 on, such as 10, or a share of the members, such as 25%")
	case percent && n > 100:
		return errors.New("it has to be 100% or less")
	}
	*c = concurrency{Number: n, Percent: percent}
	return nil
}

// String implements pflag.Value.
func (c *concurrency) String() string { return plan.Concurrency(*c).String() }

// Type implements pflag.Value.
func (c *concurrency) Type() string { return "string" }
