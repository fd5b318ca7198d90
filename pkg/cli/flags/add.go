package flags

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Bool adds a switch.
func Bool(p *bool, def bool) func(*cobra.Command, Flag) {
	return func(cmd *cobra.Command, f Flag) { cmd.Flags().BoolVarP(p, f.Name, f.Short, def, f.Usage) }
}

// Int adds a flag with a number.
func Int(p *int, def int) func(*cobra.Command, Flag) {
	return func(cmd *cobra.Command, f Flag) { cmd.Flags().IntVarP(p, f.Name, f.Short, def, f.Usage) }
}

// Text adds a flag with a text.
func Text(p *string, def string) func(*cobra.Command, Flag) {
	return func(cmd *cobra.Command, f Flag) { cmd.Flags().StringVarP(p, f.Name, f.Short, def, f.Usage) }
}

// Duration adds a flag with a duration.
func Duration(p *time.Duration, def time.Duration) func(*cobra.Command, Flag) {
	return func(cmd *cobra.Command, f Flag) { cmd.Flags().DurationVarP(p, f.Name, f.Short, def, f.Usage) }
}

// Value adds a flag whose value checks itself.
func Value(v pflag.Value) func(*cobra.Command, Flag) {
	return func(cmd *cobra.Command, f Flag) { cmd.Flags().VarP(v, f.Name, f.Short, f.Usage) }
}

// BindTimeout adds the flag --timeout of a command that has no table of flags.
func BindTimeout(cmd *cobra.Command, p *time.Duration, def time.Duration, usage string) {
	Table{{Name: "timeout", Add: Duration(p, def), Usage: usage}}.Bind(cmd)
}
