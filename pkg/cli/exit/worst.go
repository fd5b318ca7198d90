package exit

import "errors"

// Worst returns one error for several runs of a command, nil where all ended well. Its code is that of the run that
// ended worst. Changes that are only pending are no failure. Texts that were reported already are left out.
func Worst(errs []error) error {
	code := OK
	var texts []error
	for _, err := range errs {
		if c := Of(err); code == OK || code == Pending && c != OK || c != Pending && c > code {
			code = c
		}
		if err != nil && err.Error() != "" {
			texts = append(texts, err)
		}
	}
	if code == OK {
		return nil
	}
	return With(code, errors.Join(texts...))
}
