package main

import (
	"os"
	"strings"
	"testing"
)

const tree = "../../../krew/tidb.yaml"

func TestFill(t *testing.T) {
	manifest, err := os.ReadFile(tree)
	if err != nil {
		t.Fatal(err)
	}
	sum := strings.Repeat("ab", 32)
	sums := map[string]string{}
	for _, name := range []string{"darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "linux_amd64.tar.gz", "linux_arm64.tar.gz", "windows_amd64.zip", "windows_arm64.zip"} {
		sums["kubectl-tidb_v99.0.0_"+name] = sum
	}
	got, err := fill(manifest, sums, "v99.0.0", "")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(got), sum); n != 6 {
		t.Errorf("%d sums, want 6", n)
	}
	// Twice the same is the same, so that nothing but version and sums changes.
	again, err := fill(got, sums, "v99.0.0", "")
	if err != nil || string(again) != string(got) {
		t.Errorf("%v, and\n%s", err, again)
	}
	if n := changed(string(manifest), string(got)); n != 13 { // the version, six addresses, six sums
		t.Errorf("%d lines have changed, want 13:\n%s", n, got)
	}
	one, err := fill(manifest, sums, "v99.0.0", "linux/arm64")
	if err != nil || strings.Count(string(one), "uri:") != 1 || !strings.Contains(string(one), "linux_arm64") {
		t.Errorf("%v, and\n%s", err, one)
	}
}

func TestFillRefuses(t *testing.T) {
	const head = "spec:\n  version: v0.0.0\n  platforms:\n    - selector: {matchLabels: {os: linux, arch: amd64}}\n"
	for name, tc := range map[string]struct{ manifest, want string }{
		"no version":            {"spec: {platforms: []}", "no version"},
		"no platforms":          {"spec: {version: v0.0.0}", "no platforms"},
		"no address":            {head + "      sha256: x\n", "linux/amd64 has no uri"},
		"no sum":                {head + "      uri: a/v0.0.0\n", "linux/amd64 has no uri"},
		"address, other one":    {head + "      uri: a/v0.0.1\n      sha256: x\n", "no uri with version v0.0.0"},
		"archive that is lost":  {head + "      uri: a/v0.0.0.zip\n      sha256: x\n", "no archive v1.2.3.zip"},
		"something not of YAML": {"a: [", "yaml"},
	} {
		if _, err := fill([]byte(tc.manifest), nil, "v1.2.3", ""); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if _, err := read([]byte("abc file\n")); err == nil {
		t.Error("a short sum is taken for a sum")
	}
}

func changed(a, b string) (n int) {
	old, now := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(old) != len(now) {
		return -1
	}
	for i := range old {
		if old[i] != now[i] {
			n++
		}
	}
	return n
}
