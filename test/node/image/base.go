package image

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const busybox = "/bin/busybox"

// Base is the layer that all images but pause share: a shell, the usual small programs, and name lookups that work.
// It is the dynamic busybox with the C library, since the static one crashes when it looks up a name.
func Base() (*Layer, error) {
	layer := &Layer{Entries: []Entry{
		{Path: "bin/", Mode: 0o755}, {Path: "etc/", Mode: 0o755}, {Path: "lib/", Mode: 0o755},
		{Path: "lib64/", Mode: 0o755}, {Path: "root/", Mode: 0o700}, {Path: "tmp/", Mode: 0o1777},
		{Path: "usr/", Mode: 0o755}, {Path: "usr/bin/", Mode: 0o755}, {Path: "usr/local/", Mode: 0o755},
		{Path: "usr/local/bin/", Mode: 0o755}, {Path: "var/", Mode: 0o755},
		{Path: "etc/nsswitch.conf", Mode: 0o644, Content: []byte("hosts: files dns\n")},
		{Path: "etc/passwd", Mode: 0o644, Content: []byte("root:x:0:0:root:/root:/bin/sh\n")},
		{Path: "etc/group", Mode: 0o644, Content: []byte("root:x:0:\n")},
		{Path: "bin/busybox", Mode: 0o755, Source: busybox},
		// Scripts that name the shell by its other usual place.
		{Path: "usr/bin/env", Link: "/bin/busybox"},
	}}
	libraries, err := sharedLibraries(busybox)
	if err != nil {
		return nil, err
	}
	made := map[string]bool{"lib/": true, "lib64/": true, "usr/": true}
	for _, library := range libraries {
		path := strings.TrimPrefix(library, "/")
		layer.addFolders(filepath.Dir(path), made)
		layer.Entries = append(layer.Entries, Entry{Path: path, Mode: 0o755, Source: library})
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("list the programs of busybox: %w", err)
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			layer.Entries = append(layer.Entries, Entry{Path: "bin/" + applet, Link: "busybox"})
		}
	}
	return layer, nil
}

func (l *Layer) addFolders(folder string, made map[string]bool) {
	if folder == "." || made[folder+"/"] {
		return
	}
	l.addFolders(filepath.Dir(folder), made)
	made[folder+"/"] = true
	l.Entries = append(l.Entries, Entry{Path: folder + "/", Mode: 0o755})
}

// sharedLibraries lists what a program is linked with, and the libraries for name lookups that are loaded by name only.
func sharedLibraries(program string) ([]string, error) {
	output, err := exec.Command("ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %s: %w", program, err)
	}
	libraries := parseLibraries(string(output))
	for _, library := range libraries {
		if !strings.HasPrefix(filepath.Base(library), "libc.so") {
			continue
		}
		for _, name := range []string{"libnss_dns.so.2", "libnss_files.so.2"} {
			path := filepath.Join(filepath.Dir(library), name)
			if _, err := os.Stat(path); err == nil {
				libraries = append(libraries, path)
			}
		}
	}
	return libraries, nil
}

// parseLibraries picks the paths out of lines like "libc.so.6 => /lib/libc.so.6 (0x…)" and "/lib64/ld.so (0x…)".
func parseLibraries(output string) []string {
	var libraries []string
	for _, line := range strings.Split(output, "\n") {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "/") {
				libraries = append(libraries, word)
				break
			}
		}
	}
	return libraries
}
