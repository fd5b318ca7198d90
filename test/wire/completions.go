package wire

import (
	_ "unsafe" // for go:linkname

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completions are what cobra keeps for a whole process about each flag of each command that was made.
//
//go:linkname completions github.com/spf13/cobra.flagCompletionFunctions
var completions map[*pflag.Flag]cobra.CompletionFunc

// forgetCommands lets the memory of all commands go. A completion keeps its command, and the command keeps the world it
// ran in, so that later tests would spend half of their time on collecting garbage.
func forgetCommands() {
	if completions == nil {
		panic("wire: cobra keeps completions elsewhere")
	}
	clear(completions)
}
