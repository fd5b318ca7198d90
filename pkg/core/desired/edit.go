package desired

import (
	"fmt"
	"time"
)

// Edit is a field of a live pod template that is not as this plugin or tidb-operator applied it last. A
// person has changed it, another tool, or an admission webhook.
type Edit struct {
	Field string // such as containers[tikv].image
	// Live and Applied are its values, "" where the field is not there.
	Live, Applied string
	// Hidden: the values are not shown, since they are long or may be secret.
	Hidden bool
	// Manager is the field manager that has written the live value, and At is when. Both are empty where
	// the API server has not recorded it, as of a field that was removed.
	Manager string
	At      time.Time
}

func (e Edit) String() string {
	by := ""
	if e.Manager != "" {
		by = " (written by " + e.Manager + ")"
	}
	switch {
	case e.Live == "" && e.Applied != "":
		return e.Field + " is gone" + by
	case e.Hidden:
		return e.Field + " is not what was applied" + by
	}
	return fmt.Sprintf("%s is %s%s, and %s was applied", e.Field, e.Live, by, e.Applied)
}
