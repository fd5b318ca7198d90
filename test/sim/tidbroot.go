package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// root is the account root of TiDB, which is kept in TiKV: all servers have the same.
type root struct {
	password string // "" at first
	secret   string // the password in the Secret, "" while there is none
	recorded bool   // in the status of the TidbCluster
	theirs   string // the password that a person has set last
}

var errTiDB = errors.New("TiDB does not answer")

// drawPassword lets the user ask for a first password in one run of eight. In some of these runs a
// person sets a password as well. That is drawn separately, so that the other runs stay as they are.
func drawPassword(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 12))
	if o.FirstPassword = rng.IntN(8) == 0; o.FirstPassword {
		o.Faults.Password = pick(rng, 0, 0, 1./200)
	}
}

// asksPassword reports whether the user asks for a first password of root that is not recorded.
func (w *Model) asksPassword(k kind) bool { return k == tidb && w.FirstPassword && !w.root.recorded }

// setPassword fails at any point, as package act may. The Secret is written before TiDB has the
// password, and access is denied where root has one.
func (w *Model) setPassword(s step.SetPassword) error {
	i, _ := w.index(s.Component, s.Member)
	r := &w.root
	switch p := w.pods[tidb][i]; {
	case p == nil || p.uid != s.PodUID, w.Intent.Paused:
		return errConflict
	case r.recorded:
		return nil
	case !w.serves(tidb, i):
		return errTiDB
	case r.password == "":
		if r.secret == "" {
			r.secret = fmt.Sprintf("first@%d", w.t)
		}
		if w.endsHalfWay() {
			return errHalfWay
		}
		r.password = r.secret
	}
	if w.endsHalfWay() {
		return errHalfWay
	}
	r.recorded = true
	return nil
}

// setPasswordByHand is a person who sets a password of root.
func (w *Model) setPasswordByHand() {
	for i := range limit {
		if w.serves(tidb, i) {
			w.root.theirs = fmt.Sprintf("theirs@%d", w.t)
			w.root.password = w.root.theirs
			w.note("fault: a person sets a password of root")
			return
		}
	}
}

// restOfRoot checks the password of root. There is a password if it is asked for, somebody knows it,
// and a password that a person has set is still there.
func (w *Model) restOfRoot() {
	r := w.root
	switch {
	case !w.FirstPassword:
		if r != (root{}) {
			w.broke("password", "nobody has asked for it: %+v", r)
		}
	case r.theirs != "" && r.password != r.theirs:
		w.broke("password", "a person had set another one: %+v", r)
	case w.Intent.Replicas[tidb] > 0 && !w.Intent.Suspend[tidb] && !r.recorded:
		w.broke("password", "none is recorded: %+v", r)
	case r.recorded && (r.password == "" || r.theirs == "" && r.password != r.secret):
		w.broke("password", "nobody knows it: %+v", r)
	}
}
