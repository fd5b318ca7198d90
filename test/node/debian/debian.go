// Package debian makes sure that the programs which the node takes from the distribution are there.
package debian

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// requirement is a file that shows whether a package is installed. Files rather than the package
// database: a machine that got containerd from elsewhere has what is needed, and installing a
// second one over it would break the first.
type requirement struct {
	name  string
	files []string
}

func requirements() []requirement {
	return []requirement{
		{"containerd", []string{"/usr/bin/containerd", "/usr/local/bin/containerd"}},
		{"runc", []string{"/usr/sbin/runc", "/usr/bin/runc", "/usr/local/sbin/runc"}},
		{"containernetworking-plugins", []string{"/usr/lib/cni/bridge"}},
		{"iptables", []string{"/usr/sbin/iptables"}},
		{"nftables", []string{"/usr/sbin/nft"}},
		{"conntrack", []string{"/usr/sbin/conntrack"}},
		{"iproute2", []string{"/usr/sbin/ip", "/sbin/ip", "/bin/ip"}},
		{"busybox", []string{"/bin/busybox", "/usr/bin/busybox"}},
		{"rclone", []string{"/usr/bin/rclone"}},
	}
}

// Ensure installs the packages that are missing.
func Ensure(ctx context.Context, progress io.Writer) error {
	missing := missingPackages(requirements())
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("the node needs the Debian packages %s and apt-get is not here to install them; "+
			"install them by other means", strings.Join(missing, " "))
	}
	fmt.Fprintf(progress, "installing Debian packages: %s\n", strings.Join(missing, " "))
	install := append([]string{"install", "-y", "--no-install-recommends"}, missing...)
	if _, err := aptGet(ctx, install...); err == nil {
		return nil
	}
	// A machine that never fetched the package lists, or fetched them long ago, fails at the first attempt.
	if output, err := aptGet(ctx, "update"); err != nil {
		return fmt.Errorf("fetch the package lists (apt-get update): %w\n%s", err, output)
	}
	if output, err := aptGet(ctx, install...); err != nil {
		return fmt.Errorf("install the Debian packages %s: %w\n%s", strings.Join(missing, " "), err, output)
	}
	return nil
}

func missingPackages(all []requirement) []string {
	var missing []string
	for _, wanted := range all {
		if !anyExists(wanted.files) {
			missing = append(missing, wanted.name)
		}
	}
	return missing
}

func anyExists(files []string) bool {
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			return true
		}
	}
	return false
}

func aptGet(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "apt-get", arguments...)
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n"), err
}
