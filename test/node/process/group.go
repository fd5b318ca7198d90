package process

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Group is a control group that holds the node's programs and whatever they start. It is how processes are found that
// the node did not start itself, such as the shims of containers: the kernel keeps the membership, whatever becomes of
// parents.
type Group struct {
	// Name of the group, one folder below each hierarchy's root.
	Name string
	// Hierarchies are the mount points in which members are entered.
	Hierarchies []string
}

// OpenGroup finds the hierarchies of this machine.
func OpenGroup(name string) (Group, error) {
	file, err := os.Open("/proc/self/mounts")
	if err != nil {
		return Group{}, fmt.Errorf("find the control group hierarchies: %w", err)
	}
	defer file.Close()
	group := Group{Name: name}
	var unified []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 {
			continue
		}
		switch point, kind := fields[1], fields[2]; {
		case kind == "cgroup2":
			unified = append(unified, point)
		case kind == "cgroup" && wanted(fields[3]):
			group.Hierarchies = append(group.Hierarchies, point)
		}
	}
	if len(group.Hierarchies) == 0 {
		group.Hierarchies = unified
	}
	if len(group.Hierarchies) == 0 {
		return Group{}, errors.New("no control group hierarchy is mounted; containers need one")
	}
	return group, nil
}

// wanted chooses hierarchies of the old kind: pids to find members by, memory and systemd so that the node is not
// charged to, limited with or ended together with the session that started it.
func wanted(options string) bool {
	for _, option := range strings.Split(options, ",") {
		if option == "pids" || option == "memory" || option == "name=systemd" {
			return true
		}
	}
	return false
}

// Add enters a process into the group.
func (g Group) Add(pid int) error {
	for _, hierarchy := range g.Hierarchies {
		folder := filepath.Join(hierarchy, g.Name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("create the node's control group: %w", err)
		}
		members := filepath.Join(folder, "cgroup.procs")
		if err := os.WriteFile(members, []byte(strconv.Itoa(pid)), 0o644); err != nil {
			return fmt.Errorf("enter process %d into the node's control group: %w", pid, err)
		}
	}
	return nil
}

// Empty kills every member of the group and of other groups that belong to the node, given by their paths below a
// hierarchy's root, and removes them.
func (g Group) Empty(others ...string) error {
	groups := append([]string{g.Name}, others...)
	var killed []int
	deadline := time.Now().Add(10 * time.Second)
	for {
		members, err := g.members(groups)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			break
		}
		killed = append(killed, members...)
		for _, pid := range members {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end process %d of the node: %w", pid, err)
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of the node are still there after they were killed", members)
		}
		time.Sleep(pollInterval)
	}
	AwaitReaped(killed)
	return g.remove(groups)
}

// members lists the processes of groups and of the groups below them.
func (g Group) members(groups []string) ([]int, error) {
	var members []int
	for _, hierarchy := range g.Hierarchies {
		for _, group := range groups {
			found, err := membersBelow(filepath.Join(hierarchy, group))
			if err != nil {
				return nil, fmt.Errorf("list the node's processes: %w", err)
			}
			members = append(members, found...)
		}
	}
	slices.Sort(members)
	return slices.Compact(members), nil
}

func membersBelow(folder string) ([]int, error) {
	var members []int
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() != "cgroup.procs" {
			return ignoreMissing(err)
		}
		content, err := os.ReadFile(path)
		for _, word := range strings.Fields(string(content)) {
			if pid, parseErr := strconv.Atoi(word); parseErr == nil && pid > 0 {
				members = append(members, pid)
			}
		}
		return ignoreMissing(err)
	})
	return members, err
}

// remove deletes groups in every hierarchy, also in those that only the container runtime used.
func (g Group) remove(groups []string) error {
	hierarchies, err := filepath.Glob("/sys/fs/cgroup/*")
	if err != nil {
		return err
	}
	for _, hierarchy := range append(hierarchies, g.Hierarchies...) {
		for _, group := range groups {
			if err := removeTree(filepath.Join(hierarchy, group)); err != nil {
				return fmt.Errorf("remove a control group of the node: %w", err)
			}
			if parent := filepath.Dir(group); parent != "." {
				// Stays when it holds a group of somebody else.
				_ = os.Remove(filepath.Join(hierarchy, parent))
			}
		}
	}
	return nil
}

// removeTree removes a group after the groups below it. The files in them are not real and go along.
func removeTree(root string) error {
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return ignoreMissing(err)
	})
	if err != nil {
		return err
	}
	for _, folder := range slices.Backward(folders) {
		if err := os.Remove(folder); ignoreMissing(err) != nil {
			return err
		}
	}
	return nil
}

// ignoreMissing: groups come and go while they are walked.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	return err
}
