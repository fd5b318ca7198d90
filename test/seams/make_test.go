package seams

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoSuchTarget: make fails for a target that does not exist. A pipeline with a typo would be green else, and
// nothing would have been checked.
func TestNoSuchTarget(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	for target, fails := range map[string]bool{"nosuchtarget": true, "sim": false, "build": false} {
		cmd := exec.Command("make", "--no-print-directory", "-n", target)
		cmd.Dir = "../.."
		text, err := cmd.CombinedOutput()
		if (err != nil) != fails || !fails && strings.Contains(string(text), "up to date") {
			t.Errorf("make %s: %v: %s", target, err, text)
		}
	}
}
