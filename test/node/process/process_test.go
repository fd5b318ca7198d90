package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	fields := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20"
	for _, command := range []string{"(plain)", "(with blank)", "(with ) bracket)", "(()"} {
		state, start, err := parseStat([]byte("77 " + command + fields))
		if err != nil || state != 'S' || start != 4242 {
			t.Errorf("%s: state %c, start %d, error %v", command, state, start, err)
		}
	}
	for _, line := range []string{"", "77 (short) S 1 2", "no command"} {
		if _, _, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q was accepted", line)
		}
	}
}

func TestAliveTellsARecycledIDApart(t *testing.T) {
	self, err := identify("self", os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !self.Alive() {
		t.Error("this very process is not alive")
	}
	other := self
	other.Start++
	if other.Alive() {
		t.Error("a process with another start time is taken for the recorded one")
	}
	// Would end this test if it were mistaken for the recorded process.
	if err := other.End(0); err != nil {
		t.Error(err)
	}
	if (Record{}).Alive() {
		t.Error("a record without an id is alive")
	}
}

func launchShell(t *testing.T, script string) Record {
	t.Helper()
	log := filepath.Join(t.TempDir(), "logs", "shell.log")
	record, err := Launch(Program{Name: "shell", Path: "/bin/sh", Arguments: []string{"-c", script}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = record.End(0) })
	return record
}

// TestLaunchPassesNothingOn: a lock that is passed on is never released.
func TestLaunchPassesNothingOn(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	passed, err := syscall.Dup(int(writer.Fd())) // as one that was inherited: not closed on exec
	if err != nil {
		t.Fatal(err)
	}
	launchShell(t, "exec sleep 60")
	if err := errors.Join(writer.Close(), syscall.Close(passed), reader.SetReadDeadline(time.Now().Add(5*time.Second))); err != nil {
		t.Fatal(err)
	}
	if n, err := reader.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the program holds our pipe open: %d, %v", n, err)
	}
}

func TestEndAsksFirst(t *testing.T) {
	record := launchShell(t, "exec sleep 60")
	if !record.Alive() {
		t.Fatal("the program does not run")
	}
	if err := record.End(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	if record.Alive() {
		t.Error("the program still runs")
	}
}

func TestEndKillsWhatDoesNotEnd(t *testing.T) {
	set := filepath.Join(t.TempDir(), "set")
	if err := syscall.Mkfifo(set, 0o600); err != nil {
		t.Fatal(err)
	}
	record := launchShell(t, "trap '' TERM; echo > '"+set+"'; while :; do sleep 0.1; done")
	if _, err := os.ReadFile(set); err != nil { // which ends when the trap is set
		t.Fatal(err)
	}
	if err := record.End(200 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if record.Alive() {
		t.Error("the program still runs")
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	command := exec.Command("/bin/true")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	record, err := identify("true", command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); record.Alive() && time.Now().Before(deadline); {
		time.Sleep(pollInterval)
	}
	if record.Alive() {
		t.Error("a zombie counts as alive")
	}
	_ = command.Wait()
}

func TestLaunchReportsAMissingProgram(t *testing.T) {
	_, err := Launch(Program{Name: "ghost", Path: "/nonexistent", Log: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "ghost") {
		t.Errorf("error is %v", err)
	}
}

func TestLastLinesOfALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	content := strings.Repeat("filler\n", 10000) + "first\nsecond\n"
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := LastLines(path, 2); got != "first\nsecond" {
		t.Errorf("got %q", got)
	}
	if got := LastLines(path+"none", 2); !strings.Contains(got, "no such file") {
		t.Errorf("got %q", got)
	}
}

func TestWantedHierarchies(t *testing.T) {
	for options, want := range map[string]bool{
		"rw,relatime,pids": true, "rw,memory": true, "rw,name=systemd": true, "rw,cpu,cpuacct": false, "": false,
	} {
		if got := wanted(options); got != want {
			t.Errorf("wanted(%q) = %v", options, got)
		}
	}
}

func TestRemoveTreeRemovesChildrenFirst(t *testing.T) {
	root := filepath.Join(t.TempDir(), "group")
	if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := removeTree(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); err == nil {
		t.Error("the group is still there")
	}
	if err := removeTree(root); err != nil {
		t.Errorf("removing a group that is gone: %v", err)
	}
}
