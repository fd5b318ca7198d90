package completion

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// places are where files of completions go.
type places struct {
	kubectl   string // the folder of the program for kubectl
	fallback  string // if that cannot be written; "" if the user has named the folder
	data      string // of the user: XDG_DATA_HOME
	config    string // XDG_CONFIG_HOME
	path      []string
	windows   bool
	collected []string // what is left to do
}

// placesOf returns the places of a user. dir is what the user has asked for, or "".
func placesOf(env func(string) string, system, dir string) *places {
	home := env("HOME")
	if home == "" {
		home = env("USERPROFILE")
	}
	or := func(value, otherwise string) string {
		if value != "" {
			return value
		}
		return otherwise
	}
	p := &places{
		data: or(env("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), config: or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")),
		path: filepath.SplitList(env("PATH")), windows: system == "windows",
	}
	p.kubectl, p.fallback = dir, ""
	if dir == "" {
		p.kubectl, p.fallback = filepath.Join(home, ".local", "bin"), ""
		if plugin, err := exec.LookPath("kubectl-tidb"); err == nil {
			p.kubectl, p.fallback = filepath.Dir(plugin), p.kubectl
		}
	}
	return p
}

// install writes the program for kubectl, and what a shell loads, if one is named.
func (p *places) install(out io.Writer, root *cobra.Command, shell string) error {
	if err := p.forKubectl(out); err != nil {
		return err
	}
	if shell != "" {
		content, err := text(root, shell)
		if err != nil {
			return err
		}
		file, left := p.forShell(shell)
		if err := put(out, file, content, 0o644); err != nil {
			return err
		}
		p.collected = append(p.collected, left)
	}
	for _, left := range p.collected {
		fmt.Fprintln(out, left)
	}
	return nil
}

// forKubectl writes the program that kubectl asks. The folder of the plugin may be one that only
// root may write.
func (p *places) forKubectl(out io.Writer) error {
	name, content := kubectlName, []byte(script)
	if p.windows {
		name, content = kubectlName+".cmd", []byte("@kubectl tidb __complete %*\r\n")
	}
	err := put(out, filepath.Join(p.kubectl, name), content, 0o755)
	if err != nil && p.fallback != "" && exit.Of(err) != exit.Refused {
		p.kubectl = p.fallback
		err = put(out, filepath.Join(p.kubectl, name), content, 0o755)
	}
	if err != nil {
		return err
	}
	if !slices.Contains(p.path, p.kubectl) {
		p.collected = append(p.collected, fmt.Sprintf("%s is not on the PATH: add it, so that kubectl finds the file", p.kubectl))
	}
	p.collected = append(p.collected, `"kubectl tidb" is completed in shells in which kubectl is: "kubectl completion --help" says how`)
	return nil
}

// forShell returns the file that a shell loads for "kubectl-tidb", and what is left to do.
func (p *places) forShell(shell string) (file, left string) {
	switch shell {
	case "bash":
		return filepath.Join(p.data, "bash-completion", "completions", "kubectl-tidb"), "bash: open a new one; it loads the file if the package bash-completion is installed"
	case "zsh":
		dir := filepath.Join(p.data, "zsh", "site-functions")
		return filepath.Join(dir, "_kubectl-tidb"), "zsh: have this line in ~/.zshrc, before compinit is called, and open a new one: fpath=(" + dir + " $fpath)"
	case "fish":
		return filepath.Join(p.config, "fish", "completions", "kubectl-tidb.fish"), "fish: open a new one; it loads the file"
	}
	file = filepath.Join(p.config, "powershell", "kubectl-tidb.ps1")
	return file, "powershell: have this line in the file that $PROFILE names, and open a new one: . '" + file + "'"
}

// put writes a file, unless it has these contents. One that this command did not write stays.
func put(out io.Writer, file string, content []byte, mode os.FileMode) error {
	was, err := os.ReadFile(file)
	switch {
	case err == nil && bytes.Equal(was, content):
		if err := os.Chmod(file, mode); err != nil {
			return fmt.Errorf("install the completion: %w", err)
		}
		fmt.Fprintln(out, file, "is up to date")
		return nil
	case err == nil && !strings.Contains(string(was), "__complete"):
		return exit.Refusef("%s was not written by this command, so it stays: remove it first", file)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("install the completion: %w", err)
	}
	if err := os.WriteFile(file, content, mode); err != nil {
		return fmt.Errorf("install the completion: %w", err)
	}
	if err := os.Chmod(file, mode); err != nil { // also where the file was there with another one
		return fmt.Errorf("install the completion: %w", err)
	}
	fmt.Fprintln(out, file, "is written")
	return nil
}
