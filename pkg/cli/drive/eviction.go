package drive

import (
	"errors"
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
	// The only error is a flag that does not exist.
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
