package resident

import (
	"io/fs"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// TestContainerLimit: the limit is the smallest one of the groups that the process is in, in both versions of cgroups.
func TestContainerLimit(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"container":         {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, 1 << 30},
		"no limit":          {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		"group above":       {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "100\n", "sys/fs/cgroup/a/b/memory.max": "200\n"}, 100},
		"group of the host": {map[string]string{"proc/self/cgroup": "0::/../x\n", "sys/fs/cgroup/memory.max": "300\n"}, 300},
		"first version": {map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/c\n4:memory:/c\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/c/memory.limit_in_bytes": "400\n",
		}, 400},
		"first version without one": {map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		"no such system":            {nil, 0},
		"nothing that is known":     {map[string]string{"proc/self/cgroup": "x\n4:memory\n", "sys/fs/cgroup/memory.max": "-5\n"}, 0},
	} {
		files := fstest.MapFS{}
		for path, text := range c.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := containerLimit(fs.FS(files)); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestLimitMemory: the limit of the container becomes that of the heap, with room for the rest, unless the user has set
// one.
func TestLimitMemory(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(was)
	files := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")}, "sys/fs/cgroup/memory.max": {Data: []byte("1000000000\n")}}
	if got := limitMemory(files, "512MiB"); got != 0 || debug.SetMemoryLimit(-1) != was {
		t.Errorf("one that the user has set is changed to %d", got)
	}
	if got := limitMemory(fstest.MapFS{}, ""); got != 0 || debug.SetMemoryLimit(-1) != was {
		t.Errorf("without a container it is %d", got)
	}
	if got := limitMemory(files, ""); got != 800_000_000 || debug.SetMemoryLimit(-1) != got {
		t.Errorf("%d", got)
	}
}
