package drive

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// BindEviction adds the flags of verbs that take stores down for a while or for
// good: how long region leaders may take to leave one, and what happens then.
func (o *Options) BindEviction(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var((*span)(&o.Eviction.Timeout), "evict-timeout", "How long region leaders may take to leave a store before it is restarted or removed, e.g. 10m. "+
		"The default for a restart is spec.tikv.evictLeaderTimeout, or without that no limit; for a removal 5m.")
	flags.Var((*lapse)(&o.Eviction.OnTimeout), "on-evict-timeout", "What to do then, or, without a limit, when no leader has left for 10 minutes: "+
		"proceed with the leaders that are left, fail with exit code 3 and let the store keep them, or wait for ever. The default is to proceed where there is a limit, else to fail.")
	flags.Var((*count)(&o.Eviction.MaxMoves), "max-leader-moves", "How many region leaders PD moves at a time while leaders leave stores and come back, in place of PD's leader-schedule-limit: "+
		"a few spare queries, many save time. PD goes back to its own limit two minutes after the run at the latest, also if the run is killed.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("max-leader-moves", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("evict-timeout", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("on-evict-timeout", cobra.FixedCompletions(lapses[plan.Proceed:], cobra.ShellCompDirectiveNoFileComp))
}

// BindStop adds the flag of verbs that remove members: whether changefeeds may stop with the last capture
// of TiCDC.
func (o *Options) BindStop(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Eviction.StopFeeds, "stop-changefeeds", false, "Remove the last capture of TiCDC although changefeeds run. "+
		"They stop until there is one again, and fail if that takes longer than gc-ttl.")
}

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
