package exit

import (
	"errors"
	"testing"
)

// TestWorst: the code is that of the run that ended worst, whatever the order, and each text is kept once.
func TestWorst(t *testing.T) {
	refused, pending, said := Refusef("no"), With(Pending, nil), With(TimedOut, nil)
	for _, c := range []struct {
		errs []error
		code Code
		text string
	}{
		{nil, OK, ""},
		{[]error{nil, nil}, OK, ""},
		{[]error{nil, pending, nil}, Pending, ""},
		{[]error{pending, refused}, Refused, "no"},
		{[]error{refused, pending}, Refused, "no"},
		{[]error{With(Paused, nil), said}, TimedOut, ""},
		{[]error{refused, said, errors.New("oh")}, Failure, "no\noh"},
	} {
		err := Worst(c.errs)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if Of(err) != c.code || text != c.text {
			t.Errorf("%v: exit code %d, %q", c.errs, Of(err), text)
		}
	}
}
