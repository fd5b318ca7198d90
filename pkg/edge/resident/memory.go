package resident

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// ofLimit is the share of a container's memory that the heap may take, in percent. The rest is for stacks, for what the
// kernel keeps for the process, and for what is freed only a moment later.
const ofLimit = 80

// LimitMemory has the garbage collector run more often when the process comes near the memory limit of its
// container. Without that the heap may grow to twice of what is in use, and the kernel ends the process, which is
// that of all clusters. A GOMEMLIMIT that the user sets is kept. LimitMemory returns the limit in bytes, 0 for none.
func LimitMemory() int64 { return limitMemory(os.DirFS("/"), os.Getenv("GOMEMLIMIT")) }

func limitMemory(root fs.FS, set string) int64 {
	limit := containerLimit(root)
	if set != "" || limit == 0 {
		return 0
	}
	limit = limit / 100 * ofLimit
	debug.SetMemoryLimit(limit)
	return limit
}

// noLimit is above what the first version of cgroups has where there is none: the largest number of whole pages.
const noLimit = math.MaxInt64 / 2

// containerLimit returns the smallest limit of the control groups that the process is in, 0 for none. In a container
// its own group is mostly the root of what it sees; elsewhere /proc/self/cgroup has the path. Linux only: other systems
// have no such files.
func containerLimit(root fs.FS) int64 {
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	least := int64(0)
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		if parts[1] == "memory" {
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			if n := read(root, path.Join(mount, group, file)); n > 0 && (least == 0 || n < least) {
				least = n
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// read returns the number in a file, 0 where there is none.
func read(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= noLimit {
		return 0
	}
	return max(n, 0)
}
