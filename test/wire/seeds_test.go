package wire

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var (
	seeds = flag.Int("seeds", 5, "how many random runs to do")
	first = flag.Uint64("seed", 1, "the first one; 0 takes it from the clock")
	badly = flag.Bool("underway", false, "let requests also fail on their way")
	trace = flag.Bool("transcript", false, "print the requests of each seed, and what commands have printed")
	plain = flag.Bool("upgrade", false, "only upgrade a cluster of three stores, under the same faults: the speed of two versions compares")
)

// TestSeeds: whatever fails while commands run, no rule of safety is broken, and after that the cluster converges.
func TestSeeds(t *testing.T) {
	if *first == 0 {
		*first = uint64(time.Now().UnixMilli())
	}
	t.Logf("the first seed is %d; to repeat this run: make sim-wire SEEDS=%d SEED=%d", *first, *seeds, *first)
	if parts := min(*processes, *seeds); parts > 1 && testing.CoverMode() == "" {
		inProcesses(t, uint64(parts), *first, uint64(*seeds))
		return
	}
	begun := time.Now()
	for i := range uint64(*seeds) {
		if !t.Run(fmt.Sprint(*first+i), func(t *testing.T) { runSeed(t, *first+i) }) {
			t.Logf("seed %d has failed", *first+i)
		}
	}
	t.Logf("%d runs, %.2f a second", *seeds, float64(*seeds)/time.Since(begun).Seconds())
}

// settled is how long a cluster may take to converge after the faults.
const settled = time.Hour

func runSeed(t *testing.T, seed uint64) {
	o, all := drawn(seed)
	if *plain {
		o, all = upgrade(seed)
	}
	Run(t, o, func(t *testing.T, w *World) {
		defer w.transcript(t)
		if rand.New(rand.NewPCG(seed, 26)).IntN(8) == 0 {
			w.encrypt()
			all = append(all, operation{[]string{"tls", "rotate", "basic"}, 10 * time.Minute})
		}
		faults := Faults{}
		if *badly {
			faults = underway(seed)
		}
		if rand.New(rand.NewPCG(seed, 27)).IntN(8) == 0 {
			w.advanced = true
			all = append(all, chosen(seed, o)...)
		}
		rng := rand.New(rand.NewPCG(seed, 24))
		faults.Behind, faults.Asleep = pick(rng, 0, .05), pick(rng, 0, 0, .01, .03)
		play(t, w, all, faults)
	})
}

// play creates a cluster, and does something to it while things fail.
func play(t *testing.T, w *World, all []operation, faults Faults) {
	w.create(t)
	if w.advanced {
		w.kube.Migrate()
	}
	w.Model.BeginFaults()
	w.Faults = faults
	for _, op := range all {
		ctx, cancel := context.WithTimeout(t.Context(), op.within)
		w.said(w.Suspendable(ctx, append(op.args, "--yes")...))
		cancel()
	}
	w.Model.EndFaults()
	w.Faults = Faults{}
	w.giveUp()
	w.settle(t)
	w.resume(t)
	w.wantUnbroken(t)
}

// giveUp is a person who gives up what is lost for good.
func (w *World) giveUp() {
	w.Model.GiveUpLost()
	w.kube.Show()
}

// resume has processes go on that have stood still for hours, in a rollout that begins now.
func (w *World) resume(t *testing.T) {
	t.Helper()
	if len(w.asleep) == 0 {
		return
	}
	w.Sleep(time.Hour)
	w.wakeAll()
	w.said(w.Command(t.Context(), "restart", "basic", "--yes"))
	w.Sleep(minutes)
	w.settle(t)
}

// settle lets a cluster converge, as a person does who runs the same command again.
func (w *World) settle(t *testing.T) {
	t.Helper()
	end := time.Now().Add(settled)
	for time.Now().Before(end) {
		r := w.said(w.Command(t.Context(), "sync", "basic", "--yes"))
		if r.Code == 0 {
			if not := w.Model.Unfit(); len(not) > 0 {
				t.Errorf("the command says that the cluster has converged, and %s does not serve", strings.Join(not, ", "))
			}
			return
		}
		w.heed(t, r)
		w.Sleep(time.Minute)
	}
	t.Error("the cluster does not converge")
}

// heed is a person who does what a command advises. A store whose claim is being deleted can leave only when there is
// another store. An image that a person has set again right after it was put back stays until the person takes it back.
func (w *World) heed(t *testing.T, r Result) {
	t.Helper()
	text := r.Out + r.Err
	if n := *w.set(topology.TiKV).Spec.Replicas; r.Code == blocked && strings.Contains(text, "ask for more replicas") && n < maxStores {
		w.said(w.Command(t.Context(), "scale", "basic", fmt.Sprintf("tikv=%d", n+1), "--yes"))
	}
	w.giveUp()
	if strings.Contains(text, "was changed again by a webhook or another tool") {
		w.takeImagesBack()
	}
}

// takeImagesBack is a person who takes back the images that the model has set by hand.
func (w *World) takeImagesBack() {
	for _, k := range w.Model.Components() {
		for _, c := range w.set(k).Spec.Template.Spec.Containers {
			if image, _, byHand := strings.Cut(c.Image, "-by-hand"); byHand && c.Name == string(k) {
				w.editSet(k, func(s *appsv1.StatefulSet) { putImage(s, k, image) })
			}
		}
	}
	w.written()
}

const (
	blocked   = 3 // the exit code
	maxStores = 8
)

// said keeps what a command has printed.
func (w *World) said(r Result) Result {
	w.printed = append(w.printed, fmt.Sprintf("exit code %d\n%s%s", r.Code, r.Out, r.Err))
	return r
}

// transcript prints a run that has failed, or that is asked for.
func (w *World) transcript(t *testing.T) {
	if !t.Failed() && !*trace {
		return
	}
	for _, text := range w.printed {
		t.Log(text)
	}
	if *trace {
		for _, r := range w.requests {
			t.Log(r)
		}
	}
}
