package document

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// The elements of JUnit's format that CI systems read.
type (
	suites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		counts
		Suites []suite `xml:"testsuite"`
	}
	suite struct {
		Name      string `xml:"name,attr"`
		Timestamp string `xml:"timestamp,attr"`
		counts
		Properties []property `xml:"properties>property"`
		Cases      []testcase `xml:"testcase"`
	}
	counts struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
	}
	property struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	testcase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    string   `xml:"time,attr"`
		Skipped *problem `xml:"skipped"`
		Failure *problem `xml:"failure"`
		Error   *problem `xml:"error"`
		Out     string   `xml:"system-out,omitempty"`
	}
	problem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// junit writes a suite per run, with a case for the run's end, per step and per wait. The names of cases do not
// change from run to run, so that a CI system can compare them.
func junit(w io.Writer, runs []history.Run) error {
	all := suites{Name: "kubectl tidb"}
	var whole time.Duration
	for _, r := range runs {
		s := suiteOf(r)
		all.add(s.counts)
		whole += r.Took()
		all.Suites = append(all.Suites, s)
	}
	all.Time = inSeconds(whole)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (c *counts) add(o counts) {
	c.Tests += o.Tests
	c.Failures += o.Failures
	c.Errors += o.Errors
	c.Skipped += o.Skipped
}

func suiteOf(r history.Run) suite {
	s := suite{Name: title(r), Timestamp: r.Began.UTC().Format("2006-01-02T15:04:05")}
	s.Time = inSeconds(r.Took())
	if r.Outcome != "" {
		s.Properties = []property{{"outcome", report.Clean(r.Outcome)}, {"exitCode", strconv.Itoa(r.ExitCode)}}
	}
	class := report.Clean(r.Namespace + "." + r.Cluster)
	times := map[[2]string]int{}
	add := func(component string, c testcase) {
		c.Class = class + "." + component
		key := [2]string{c.Class, c.Name}
		if times[key]++; times[key] > 1 {
			c.Name += fmt.Sprintf(" (%d)", times[key])
		}
		s.Tests++
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	add("cluster", caseOfEnd(r))
	for _, step := range r.Steps {
		add(plain(step.Component), caseOfStep(r, step))
	}
	for _, wait := range r.Waits {
		add(plain(wait.Component), caseOfWait(wait))
	}
	return s
}

func plain(component string) string {
	if component == "" {
		return "cluster"
	}
	return report.Clean(component)
}

// caseOfEnd fails where the exit code is not 0. But changes that a dry run has found are no failure. A run that has
// not waited does not know whether the cluster converges.
func caseOfEnd(r history.Run) testcase {
	c := testcase{Name: "converged", Time: inSeconds(r.Took())}
	_, text, next := verdict(r)
	message := text
	if r.Error != "" {
		message = report.Clean(r.Error)
	}
	help := next
	if advice := remedy.Join(r.Remedy); advice != "" {
		help = report.Clean(advice)
	}
	switch r.Outcome {
	case event.OutcomeConverged, event.OutcomeReached:
	case "":
		c.Error = &problem{message, "killed", help}
	case event.OutcomeChanges, event.OutcomeWritten:
		c.Skipped = &problem{Message: message}
	default:
		c.Failure = &problem{message, report.Clean(r.Outcome), help}
	}
	return c
}

func caseOfStep(r history.Run, s history.Step) testcase {
	c := testcase{Name: report.Clean(s.Text), Time: inSeconds(s.Took())}
	switch {
	case r.Unsolved(s):
		c.Failure = &problem{report.Clean(s.Error), "StepFailed", fmt.Sprintf("attempts: %d", s.Attempts)}
	case s.Result == history.Failed:
		c.Out = "failed, and was not needed any more: " + report.Clean(s.Error)
	case s.Result == history.Begun:
		c.Skipped = &problem{Message: "the run ended before the step"}
	case s.Error != "":
		c.Out = fmt.Sprintf("attempt %d; the error before: %s", s.Attempts, report.Clean(s.Error))
	}
	return c
}

func caseOfWait(w history.Wait) testcase {
	c := testcase{Name: subject(w.Component, w.Member, w.Object) + ": " + report.Clean(w.Reason), Time: inSeconds(w.Took())}
	message := report.Clean(w.Message)
	switch w.Status {
	case history.Blocked:
		c.Failure = &problem{message, report.Clean(w.Reason), report.Clean(remedy.Join(w.Remedy))}
	case history.Dropped:
		c.Skipped = &problem{Message: "not seen to pass: " + message}
	case history.Waiting:
		c.Skipped = &problem{Message: "still waiting when the run ended: " + message}
	}
	return c
}

func inSeconds(d time.Duration) string { return strconv.FormatFloat(max(d, 0).Seconds(), 'f', 3, 64) }
