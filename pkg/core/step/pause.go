package step

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// EndPause ends a pause whose time is over. Steps after it need another decision: until the pause
// has ended, nothing else may be done.
type EndPause struct {
	By    string
	Until time.Time
}

func (EndPause) Action() string { return "EndPause" }

func (EndPause) Target() (topology.Kind, string) { return "", "" }

func (EndPause) Disruptive() bool { return true }

func (EndPause) Quiet() bool { return false }

func (s EndPause) String() string {
	return fmt.Sprintf("end the pause by %s, which was to last until %s", s.By, s.Until.UTC().Format(time.RFC3339))
}
