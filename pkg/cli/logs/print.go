package logs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	kubectl "k8s.io/kubectl/pkg/cmd/logs"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// printer prints logs. The lines of several containers are written one after the other, each with its source.
type printer struct {
	options
	pods    corev1client.PodInterface
	several bool
	now     func() time.Time

	mu sync.Mutex // for both streams
}

// print prints the logs: one after the other, or all of them at the same time with -f. What cannot
// be read keeps no other from being printed, and then the command fails.
func (p *printer) print(ctx context.Context, sources []source) error {
	if !p.Follow {
		var failed []error
		for _, s := range sources {
			err := p.consume(ctx, s, nil)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			failed = append(failed, p.failed(s, err))
		}
		return errors.Join(failed...)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var each sync.WaitGroup
	for _, s := range sources {
		each.Go(func() {
			if err := p.follow(ctx, s); err != nil {
				stop(err)
			}
		})
	}
	each.Wait()
	return context.Cause(ctx)
}

// failed returns the error of one log. Where there are several, it is printed at once, beside the
// lines of the others.
func (p *printer) failed(s source, err error) error {
	if err == nil || !p.several {
		return err
	}
	p.say(s, err.Error())
	return exit.With(exit.Of(err), nil)
}

// say writes a line about a log to stderr.
func (p *printer) say(s source, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.ErrOut, "%s: %s\n", s, text)
}

// consume prints a log, with since only its lines from then on.
func (p *printer) consume(ctx context.Context, s source, since *metav1.Time) error {
	settings := p.settings(s.container, p.several)
	if since != nil {
		settings.SinceTime, settings.SinceSeconds, settings.TailLines = since, nil, nil
	}
	out := &lines{printer: p}
	if p.several && !p.prefixSet || p.Prefix {
		out.prefix = fmt.Sprintf("[pod/%s] ", s)
	}
	err := kubectl.DefaultConsumeRequest(ctx, p.pods.GetLogs(s.pod, settings), out)
	if out.broken != nil {
		return out.broken
	}
	return err
}

// follow prints the log of a container until ctx ends. It also prints the logs of later containers in the same
// place, because a rollout restarts one member after the other.
func (p *printer) follow(ctx context.Context, s source) error {
	var since *metav1.Time
	said := ""
	return wait.PollUntilContextCancel(ctx, again, true, func(ctx context.Context) (bool, error) {
		err := p.consume(ctx, s, since)
		now := metav1.NewTime(p.now())
		var broken *brokenError
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case errors.As(err, &broken), exit.Of(err) == exit.Forbidden:
			return false, err
		case err == nil:
			since, said = &now, ""
			p.say(s, "the log has ended; following the next container")
		case err.Error() != said:
			said = err.Error() // such as a container that waits to start
			p.say(s, said)
		}
		return false, nil
	})
}

// lines writes whole lines, each with a prefix.
type lines struct {
	*printer
	prefix string
	broken error
}

// Write implements io.Writer. It is called with one line at a time.
func (l *lines) Write(line []byte) (int, error) {
	if len(line) == 0 {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	end := ""
	if l.prefix != "" && line[len(line)-1] != '\n' {
		end = "\n" // it is the last one, and the next line is of another log
	}
	if _, err := fmt.Fprintf(l.Out, "%s%s%s", l.prefix, line, end); err != nil {
		l.broken = &brokenError{err}
		return 0, l.broken
	}
	return len(line), nil
}

// brokenError says that nobody reads the output any more.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "write the log: " + e.err.Error() }

func (e *brokenError) Unwrap() error { return e.err }
