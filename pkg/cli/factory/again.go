package factory

import (
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// Again returns the command line that is running, with more flags. It names the namespace, so that
// it means the same in another shell.
func (f *Factory) Again(namespace string, flags ...string) remedy.Command {
	if *f.Flags.Namespace != "" {
		namespace = "" // it is among the arguments
	}
	return remedy.Plugin(namespace, slices.Concat(f.Args, flags)...)
}

// With returns a factory of the same command line with another value of a flag.
func (f *Factory) With(flag, value string) *Factory {
	other := *f
	other.Args = slices.Clone(f.Args)
	for i, a := range other.Args {
		switch {
		case strings.HasPrefix(a, "--"+flag+"="):
			other.Args[i] = "--" + flag + "=" + value
		case a == "--"+flag && i+1 < len(other.Args):
			other.Args[i+1] = value
		}
	}
	return &other
}
