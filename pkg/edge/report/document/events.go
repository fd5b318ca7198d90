package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
)

// Read reads the runs from their events, one JSON object per line. A last line without an end is
// left out: the process was killed while it wrote.
func Read(in io.Reader) ([]history.Run, error) {
	var b history.Builder
	lines := bufio.NewReader(in)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		last := err != nil
		if len(bytes.TrimSpace(line)) > 0 {
			e, err := parse(line)
			switch {
			case err == nil:
				b.Add(e)
			case !last || n == 1:
				return nil, fmt.Errorf("line %d is no event: %w", n, err)
			}
		}
		if last {
			break
		}
	}
	runs := b.Runs()
	if len(runs) == 0 {
		return nil, errors.New("there are no events in it")
	}
	return runs, nil
}

func parse(line []byte) (event.Event, error) {
	var e event.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return e, err
	}
	switch {
	case e.APIVersion != event.Version:
		return e, fmt.Errorf("its apiVersion is %q, and this version reads %s", e.APIVersion, event.Version)
	case e.Type == "" || e.Time.IsZero() || e.Cluster == "":
		return e, errors.New("it has no type, no time or no cluster")
	}
	return e, nil
}
