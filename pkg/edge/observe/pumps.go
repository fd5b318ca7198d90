package observe

import (
	"context"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pump"
)

// A Pump itself is not asked whether it serves. A Pump that tidb-operator has started listens on the address of its
// pod only, which connections through the API server do not reach. The readiness probe of the Pump reaches that
// address.

// Pump returns a client of the Pump in a member's pod.
func (o *Observer) Pump(c topology.Cluster, ordinal int) *pump.Client {
	return &pump.Client{HTTP: o.http, URL: c.MemberURL(topology.Pump, ordinal, topology.PumpPort)}
}

// readPumps reads which Pumps there are, for a cluster that has any. Without an answer they are unknown, and the rest
// of what PD says counts all the same.
func (o *Observer) readPumps(ctx context.Context, client pd.Client, c topology.Cluster, a *answers) {
	if _, has := c.Group(topology.Pump); !has {
		return
	}
	a.pumpsSilent = c.PumpSilence()
	a.binlog, a.binlogErr = client.BinlogNodes(ctx)
	a.binlogAt = o.now()
}

// sortPumps notes which Pumps are members. An address can have had several Pumps. A Pump that is not offline counts
// before the others, and then the last that has written.
func (a answers) sortPumps(c topology.Cluster, d *database) {
	if a.binlogErr != nil {
		d.pumpsUnread = "PD's etcd does not say which Pumps there are: " + a.binlogErr.Error()
		return
	}
	d.state.PumpsKnown = !a.binlogAt.IsZero()
	for _, n := range a.binlog {
		if n.Drainer {
			continue
		}
		m := a.pumpOf(n)
		ordinal, ok := c.PumpOrdinal(n.Host, n.ID)
		if !ok && m.Healthy {
			d.state.OtherPumps++
		}
		last, had := d.listed[topology.Pump][ordinal]
		if !ok || had && (!last.Removed() && m.Removed() || last.Removed() == m.Removed() && last.heartbeat.After(m.heartbeat)) {
			continue
		}
		d.list(topology.Pump, ordinal, m)
	}
}

// pumpOf returns what a Pump has written, with times by the clock of the API server. The difference of the clocks is
// rounded, so that it is the same each time. The date of PD's answer is cut to seconds, and the answer takes a
// moment. The same entry must not count once as written before its process started, and once after that. Otherwise a
// cluster that has converged would seem not to have converged a second later. A time that is too early only makes us
// wait for the next write. The time is too late, by a second, only where the clocks are two seconds apart.
func (a answers) pumpOf(n pd.BinlogNode) listed {
	m := listed{heartbeat: n.Updated, Database: state.Database{
		Presence: state.Present, Pump: state.Pump{Node: n.ID, Host: n.Host, State: state.PumpState(n.State)},
	}}
	if !n.Updated.IsZero() && !n.Answered.IsZero() {
		const step = 4 * time.Second
		m.heartbeat = n.Updated.Add(a.binlogAt.Sub(n.Answered).Round(step) - step/2)
	}
	online, writes := m.Pump.State == state.PumpOnline, a.binlogAt.Sub(m.heartbeat) < a.pumpsSilent
	m.Healthy = online && writes
	if online && !writes {
		m.Problem = "Pump does not renew its entry in PD's etcd"
	}
	for _, d := range a.binlog {
		behind := n.Written.Sub(d.Written).Truncate(time.Second)
		if d.Drainer && d.State != string(state.PumpOffline) && (m.Pump.Reader == "" || behind > m.Pump.Behind) {
			m.Pump.Reader, m.Pump.Behind = d.ID, max(behind, 0)
		}
	}
	return m
}

// ofPump reduces what a Pump has written to what is valid for the process in its pod now. A Pump that was offline
// registers again when it is started. On a claim that was made since, its data is new.
func (s listed) ofPump(pod *state.Pod, born time.Time) listed {
	started := pod != nil && pod.Started.After(s.heartbeat)
	if s.Removed() && (started || !born.IsZero() && !born.Before(s.heartbeat)) {
		return listed{Database: state.Database{Presence: state.Absent}}
	}
	if started {
		// TiDB finds a Pump only by an entry. So a Pump without an own entry serves as little as one that refuses.
		s.Healthy, s.Answer, s.Problem = false, state.Refused, "Pump has not registered since it started"
	}
	if s.Pump.State == state.PumpOnline && pod != nil && pod.Closing {
		s.Pump.State, s.Healthy, s.Problem = state.PumpClosing, false, ""
	}
	if !s.Healthy {
		s.Since = s.heartbeat
	}
	return s
}
