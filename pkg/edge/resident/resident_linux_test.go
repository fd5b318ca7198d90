package resident

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestReadOnly: only parts of the program's file that cannot be written to are unmapped; the data of a program would be
// lost.
func TestReadOnly(t *testing.T) {
	const program = "/bin/kubectl-tidb"
	for line, want := range map[string][2]uintptr{
		"00400000-00600000 r-xp 00000000 fe:00 1 /bin/kubectl-tidb":           {0x400000, 0x200000},
		"00600000-00601000 r--p 00200000 fe:00 1 /bin/kubectl-tidb\n":         {0x600000, 0x1000},
		"00601000-00700000 rw-p 00201000 fe:00 1 /bin/kubectl-tidb":           {},
		"00400000-00600000 ---p 00000000 fe:00 1 /bin/kubectl-tidb":           {},
		"00400000-00600000 r-xp 00000000 fe:00 1 /bin/other":                  {},
		"c000000000-c000400000 rw-p 00000000 00:00 0 ":                        {},
		"7ffc0000-7ffc1000 r-xp 00000000 00:00 0 [vdso]":                      {},
		"00400000-00600000 r-xp 00000000 fe:00 1 /bin/kubectl-tidb (deleted)": {},
		"nonsense r-xp 00000000 fe:00 1 /bin/kubectl-tidb":                    {},
		"": {},
	} {
		from, size, ok := readOnly(line, program)
		if got := [2]uintptr{from, size}; ok != (want[1] > 0) || ok && got != want {
			t.Errorf("%q: %x, %t", line, got, ok)
		}
	}
}

// TestRelease: less of the program's file is resident afterwards, and the program still works.
func TestRelease(t *testing.T) {
	before := file(t)
	Release()
	if after := file(t); after >= before {
		t.Errorf("%d KB of the program's file were resident, and %d KB are", before, after)
	}
}

// file returns how much of files is resident, in KB.
func file(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "RssFile:")
	n, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
