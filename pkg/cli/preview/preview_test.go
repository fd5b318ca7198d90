package preview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// of returns what would be done for a request.
func of(c *plantest.Cluster, action string) Preview {
	was := topology.Cluster{}
	for i := range c.Wanted.Groups {
		c.Wanted.Groups[i].Version = "v8.1.1"
		was.Groups = append(was.Groups, topology.Group{Kind: c.Wanted.Groups[i].Kind, Version: "v8.1.1"})
	}
	if strings.HasPrefix(action, "upgrade") {
		for i := range was.Groups {
			was.Groups[i].Version = "v8.1.0"
		}
	}
	return Preview{
		Action: action, Now: &was, Wanted: c.Wanted, Seen: c.Seen,
		Forecast: forecast.Of(component.Profiles(), c.Policy, c.Wanted, c.Seen),
	}
}

// rolled has another template of each component.
func rolled(c *plantest.Cluster) *plantest.Cluster {
	for i := range c.Wanted.Groups {
		c.Wanted.Groups[i].Set.Drift, c.Wanted.Groups[i].Template = desired.Differs, "new"
	}
	return c
}

// claimed gives the members of a component claims with data.
func claimed(c *plantest.Cluster, k topology.Kind) *plantest.Cluster {
	for i := range c.Seen.Groups[k].Members {
		m := &c.Seen.Groups[k].Members[i]
		m.Claims = []state.Claim{{Name: k.DataVolume() + "-" + m.Name, UID: m.Name, Template: k.DataVolume(), Bound: true}}
	}
	return c
}

// stories are what is previewed, by the names of the golden files.
func stories() map[string]Preview {
	unknown := rolled(plantest.New(3, 3, 2))
	unknown.Member("t-tikv-1").Database.Leaders = -1
	manual := rolled(plantest.New(3, 3, 2))
	manual.Want(topology.TiDB).Manual = true
	manual.Set(topology.TiDB, func(s *state.Set) { s.Manual = true })
	scale := claimed(plantest.New(3, 5, 2), topology.TiKV)
	scale.Want(topology.TiKV).Replicas, scale.Want(topology.TiDB).Replicas, scale.Wanted.Cluster.Reclaims = 3, 4, true
	pdIn := claimed(plantest.New(3, 3, 2), topology.PD)
	pdIn.Want(topology.PD).Replicas = 1
	create := plantest.New(3, 3, 2)
	create.Seen = state.Snapshot{At: plantest.Now, PD: state.PD{Problem: "no PD pod is running"}}
	for i := range create.Wanted.Groups {
		create.Wanted.Groups[i].Set.Drift = desired.Missing
		if volume := create.Wanted.Groups[i].Kind.DataVolume(); volume != "" {
			create.Wanted.Groups[i].Volumes = []topology.Volume{{Name: volume, Size: 10 << 30}}
		}
	}
	suspend := plantest.New(3, 3, 2)
	for i := range suspend.Wanted.Groups {
		suspend.Wanted.Groups[i].Suspend = true
	}
	paused := rolled(plantest.New(3, 3, 2))
	paused.Wanted.Cluster.Paused = true
	partly := plantest.New(3, 4, 2).Down(time.Hour, "t-tikv-0")
	partly.Want(topology.TiDB).Replicas = 3
	noted := of(rolled(plantest.New(3, 3, 2)), "upgrade to v8.1.1")
	noted.Notes = []string{"spec.pd.maxFailoverCount: it has no effect"}
	timed := rolled(plantest.New(3, 3, 2))
	for _, name := range []string{"t-tikv-0", "t-tikv-1", "t-tikv-2"} {
		p := timed.Member(name).Pod
		p.Made = plantest.Now.Add(-time.Hour)
		p.Since = p.Made.Add(14 * time.Second)
	}
	fields := of(timed, "apply basic.yaml")
	fields.Differences = []render.Difference{{
		Component: topology.TiKV,
		Pods: []render.Field{
			{Path: "containers[tikv].image", Old: "pingcap/tikv:v8.1.0", New: "pingcap/tikv:v8.1.1"},
			{Path: "containers[tikv].env[KEY].value", Hidden: true},
			{Path: "containers[tikv].resources.limits.memory", New: "2Gi"},
		},
		Config: []render.Field{{Path: "log.level", Old: "info", New: "warn"}, {Path: "raftstore.sync-log", Old: "true"}},
	}}
	inPlace := of(plantest.New(3, 3, 2), "apply basic.yaml")
	inPlace.Wanted.Groups[0].Config = []desired.Object{{Kind: "ConfigMap", Name: "t-pd", Drift: desired.Differs}}
	inPlace.Differences = []render.Difference{{Component: topology.PD}}
	for i := range mostFields + 5 {
		inPlace.Differences[0].Config = append(inPlace.Differences[0].Config, render.Field{Path: fmt.Sprintf("schedule.limit-%02d", i), New: "4"})
	}
	inPlace.Forecast = forecast.Of(component.Profiles(), plan.Policy{}, inPlace.Wanted, inPlace.Seen)
	unseen := plantest.New(3, 3, 2).Set(topology.TiKV, func(s *state.Set) { s.Observed = false })
	return map[string]Preview{
		"fields":   fields,
		"in-place": inPlace,
		"nothing":  of(plantest.New(3, 3, 2), "sync"),
		"upgrade":  of(unknown, "upgrade to v8.1.1"),
		"manual":   of(manual, "upgrade to v8.1.1"),
		"many":     of(rolled(plantest.New(5, 40, 12)), "upgrade to v8.1.1"),
		"scale":    of(scale, "scale tikv=3 tidb=4"),
		"scale-pd": of(pdIn, "scale pd=1"),
		"create":   of(create, "create"),
		"grow":     of(plantest.New(3, 3, 2).Volumes(topology.TiKV, 10<<30, 20<<30), "apply basic.yaml"),
		"half-way": of(plantest.New(3, 3, 2).Roll(topology.TiKV).Rolled(topology.TiKV, 2), "sync"),
		"suspend":  of(suspend, "apply basic.yaml"),
		"paused":   of(paused, "apply basic.yaml"),
		"down":     of(plantest.New(3, 3, 2).Down(time.Hour, "t-tikv-0"), "sync"),
		"partly":   of(partly, "scale tidb=3"),
		"noted":    noted,
		"waiting":  of(unseen, "sync"),
	}
}

// TestPrint: what a user sees in terminals of three widths. Only commands are wider than a terminal.
func TestPrint(t *testing.T) {
	for name, p := range stories() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			for _, width := range []int{40, 80, 200} {
				fmt.Fprintf(&b, "====== %d columns\n", width)
				var screen bytes.Buffer
				p.Print(&screen, width)
				for line := range strings.Lines(screen.String()) {
					if len(line) > width+1 && !strings.Contains(line, "kubectl ") {
						t.Errorf("wider than %d columns: %q", width, line)
					}
				}
				b.Write(screen.Bytes())
			}
			plantest.Golden(t, name+".txt", b.String())
		})
	}
}

// TestUnlimited: what is no terminal gets a line for each thing, for grep.
func TestUnlimited(t *testing.T) {
	var narrow, wide bytes.Buffer
	p := stories()["upgrade"]
	p.Print(&narrow, 40)
	p.Print(&wide, 0)
	if n, m := strings.Count(narrow.String(), "\n"), strings.Count(wide.String(), "\n"); n <= m {
		t.Errorf("%d lines at 40 columns, %d without a limit", n, m)
	}
	if strings.Join(strings.Fields(narrow.String()), " ") != strings.Join(strings.Fields(wide.String()), " ") {
		t.Error("the words differ")
	}
}

func TestObject(t *testing.T) {
	for _, name := range []string{"upgrade", "nothing", "down", "fields"} {
		object, err := stories()[name].Object()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(object, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		plantest.Golden(t, name+".json", string(text)+"\n")
	}
}
