package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/labels"
)

// scraped is what the daemon says of itself at a time.
type scraped map[string]*dto.MetricFamily

func (d process) scrape(ctx context.Context) (scraped, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(resp.Body)
}

// sum adds up the series of a metric that have some labels.
func (s scraped) sum(name string, with labels.Set) float64 {
	var sum float64
	if s[name] == nil {
		return 0
	}
	for _, m := range s[name].GetMetric() {
		has := labels.Set{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		if labels.SelectorFromSet(with).Matches(has) {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// usage is what the daemons have used up to a time: all of them together, but for the memory, which is that
// of the largest.
type usage struct {
	at             time.Time
	reads, writes  float64 // requests to the API server; a watch is one read for its life
	calls          float64 // of PD
	turns          float64
	cpu            time.Duration
	machine        time.Duration // of all cores, of all programs
	resident, peak int64         // bytes
	own            int64         // of those resident, without the pages of the program's file
}

func (h *bench) usage(ctx context.Context) (usage, error) {
	u := usage{at: time.Now()}
	for _, d := range h.daemons {
		s, err := d.scrape(ctx)
		if err != nil {
			return u, err
		}
		const requests = "rest_client_requests_total"
		reads := s.sum(requests, labels.Set{"method": "GET"})
		u.reads += reads
		u.writes += s.sum(requests, nil) - reads
		u.calls += s.sum("kubectl_tidb_pd_calls_total", nil)
		u.turns += s.sum("kubectl_tidb_turns_total", nil)
		if err := u.process(d.Process.Pid); err != nil {
			return u, err
		}
	}
	return u, u.everybody()
}

// everybody reads what Linux says of the machine.
func (u *usage) everybody() error {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, f := range strings.Fields(line)[1:] {
		if i == 3 || i == 4 || i > 7 { // idle, waiting for a disk, and guests, which are counted already
			continue
		}
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return err
		}
		u.machine += time.Duration(ticks) * tick
	}
	return nil
}

// tick is the unit of these times of Linux.
const tick = 10 * time.Millisecond

// process reads what Linux says of a process.
func (u *usage) process(pid int) error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 2:
		case fields[0] == "VmRSS:":
			u.resident = max(u.resident, kilobytes(fields[1]))
		case fields[0] == "RssAnon:":
			u.own = max(u.own, kilobytes(fields[1]))
		case fields[0] == "VmHWM:":
			u.peak = max(u.peak, kilobytes(fields[1]))
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	// After the name, which may contain anything, utime and stime are the
	// twelfth and the thirteenth field, in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, f := range fields[11:13] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return err
		}
		u.cpu += time.Duration(ticks) * tick
	}
	return nil
}

func kilobytes(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n << 10
}
