package exit

import (
	"errors"
	"slices"
)

// worst are the exit codes of several runs, or of several contexts, beginning with the code that counts most. What could not
// be read or done may be worse than all that was refused.
var worst = []Code{Interrupted, Failure, Forbidden, TimedOut, Usage, Refused, Held, Aborted, Paused, Pending, OK}

// Worse returns the exit code that counts more.
func Worse(a, b Code) Code {
	if slices.Index(worst, a) < slices.Index(worst, b) {
		return a
	}
	return b
}

// Worst returns one error for several runs of a command, nil where all ended well. Its code is that of the run that
// ended worst. Texts that were reported already are left out.
func Worst(errs []error) error {
	code := OK
	var texts []error
	for _, err := range errs {
		code = Worse(Of(err), code)
		if err != nil && err.Error() != "" {
			texts = append(texts, err)
		}
	}
	if code == OK {
		return nil
	}
	return With(code, errors.Join(texts...))
}
