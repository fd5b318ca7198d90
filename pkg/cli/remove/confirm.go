package remove

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// confirm asks for the cluster's name, which nobody types by mistake.
func (o options) confirm(ctx context.Context, f *factory.Factory, s *drive.Session) error {
	if o.yes {
		return nil
	}
	what := "its data stays"
	if o.claims {
		what = "ITS DATA IS DELETED TOO"
	}
	where := ""
	if c := f.Context(); c != "" {
		where = " in context " + c
	}
	fmt.Fprintf(f.Streams.ErrOut, "About to delete cluster %s/%s%s; %s.\nType the cluster's name to go on: ", s.Namespace, s.Name, where, what)
	line, err := f.Input(ctx, func(in io.Reader) ([]byte, error) { return bufio.NewReader(in).ReadBytes('\n') })
	answer := strings.TrimSpace(string(line))
	switch {
	case answer == s.Name:
		return nil
	case ctx.Err() != nil:
		fmt.Fprintln(f.Streams.ErrOut)
		return err
	case err != nil && answer == "":
		fmt.Fprintln(f.Streams.ErrOut)
		return exit.Usagef("nobody to ask whether to delete cluster %s/%s, so nothing was changed; give --yes", s.Namespace, s.Name)
	}
	return exit.Refusef("that is not the cluster's name, so nothing was changed")
}
