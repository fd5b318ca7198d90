package lease

import (
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestIdentityRoundTrip(t *testing.T) {
	for _, want := range []Identity{
		Self(),
		{User: `CORP\ann`, Host: "laptop", PID: 7, Start: "12.000001", Boot: "ab12"},
		{User: "ann@corp/x", Host: "h", PID: 7},
		{Host: "h", PID: 1},
	} {
		got, ok := Parse(want.String())
		if !ok || got != want {
			t.Errorf("%q became %+v", want, got)
		}
	}
	for _, foreign := range []string{"", "tidb-controller-manager-7f9_1b2c", "a/b/c/d", "ann@h/x/1/2", "ann/7/1/2", "ann@h/0/1/2", "ann@h/-1/1/2"} {
		if _, ok := Parse(foreign); ok {
			t.Errorf("%q was parsed as one of our identities", foreign)
		}
	}
}

// TestSelf: the identity of this process.
func TestSelf(t *testing.T) {
	self := Self()
	u, err := user.Current()
	if err != nil || self.User != u.Username {
		t.Errorf("user %q, %v", self.User, err)
	}
	h, err := os.Hostname()
	if err != nil || self.Host != h {
		t.Errorf("host %q, %v", self.Host, err)
	}
	if start, _ := startOf(os.Getpid()); self.PID != os.Getpid() || self.Start != start || (bootID() == "") != (self.Boot == "") {
		t.Errorf("got %+v", self)
	}
}

// TestKnowsDead uses real processes, since it depends on what the operating system reports.
func TestKnowsDead(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this operating system does not report when processes started")
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	self := Self()
	holder := self
	holder.PID = child.Process.Pid
	var exists bool
	if holder.Start, exists = startOf(holder.PID); !exists || holder.Start == "" {
		t.Fatalf("start %q", holder.Start)
	}
	if self.knowsDead(self.String()) {
		t.Error("this process is alive")
	}
	if self.knowsDead(holder.String()) {
		t.Error("the child is alive")
	}
	again := holder
	again.Start = "1"
	if !self.knowsDead(again.String()) {
		t.Error("the pid was given to another process")
	}
	if err := child.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); !self.knowsDead(holder.String()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a killed process counts as alive before its parent has waited for it")
		}
	}
	_ = child.Wait()
	if !self.knowsDead(holder.String()) {
		t.Error("the child is gone")
	}
	if !(Holder{Identity: holder.String()}).Dead() || (Holder{Identity: self.String()}).Dead() || (Holder{}).Dead() {
		t.Error("a holder is dead where its process is gone, and only there")
	}
	withoutBoot, doubtful := self, holder
	withoutBoot.Boot, doubtful.Boot = "", ""
	if withoutBoot.knowsDead(doubtful.String()) {
		t.Error("without a boot id nothing is known of any process")
	}
	for name, change := range map[string]func(*Identity){
		"another host":            func(i *Identity) { i.Host = "elsewhere" },
		"another boot, container": func(i *Identity) { i.Boot = "elsewhere" },
		"unknown boot":            func(i *Identity) { i.Boot = "" },
		"unknown start":           func(i *Identity) { i.Start = "" },
	} {
		doubtful := holder
		change(&doubtful)
		if self.knowsDead(doubtful.String()) {
			t.Errorf("%s: nothing is known of that process", name)
		}
	}
}

func TestTakesOverFromDeadAtOnce(t *testing.T) {
	self := Self()
	if self.Boot == "" {
		t.Skip("this operating system does not report when processes started")
	}
	dead := self
	dead.Start = "1"
	synctest.Test(t, func(t *testing.T) {
		client := api(record(dead.String(), time.Now()))
		begun := time.Now()
		h, err := Acquire(t.Context(), client, cluster, self)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = h.Release() }()
		if took := time.Since(begun); took > 0 {
			t.Errorf("waited %v", took)
		}
	})
}
