package completion

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

const inTree = "../../../plugins/completion/" + kubectlName

// TestTree: the file in plugins is the one that is installed, and it can be executed.
func TestTree(t *testing.T) {
	content, err := os.ReadFile(inTree)
	if err != nil || string(content) != script {
		t.Errorf("%v: it differs from what the verb prints:\n%s", err, content)
	}
	if info, err := os.Stat(inTree); err != nil || runtime.GOOS != "windows" && info.Mode()&0o111 != 0o111 {
		t.Errorf("%v: it is not executable", err)
	}
}

// TestScript: the program hands its arguments over as they are, also an empty one, which kubectl
// gives for a word that has not begun.
func TestScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	dir := t.TempDir()
	fake := "#!/bin/sh\nfor a in \"$@\"; do echo \"<$a>\"; done\n"
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(inTree, "upgrade", "a b", "")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "<tidb>\n<__complete>\n<upgrade>\n<a b>\n<>\n" {
		t.Errorf("%v %s", err, out)
	}
}

// user is a home without anything, and a PATH with a plugin.
type user struct {
	home, bin string
	env       map[string]string
}

func newUser(t *testing.T) user {
	home := t.TempDir()
	u := user{home: home, bin: filepath.Join(home, "krew", "bin")}
	if err := os.MkdirAll(u.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(u.bin, "kubectl-tidb"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", u.bin)
	u.env = map[string]string{"HOME": home, "PATH": u.bin}
	return u
}

// run runs the verb as the user.
func (u user) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
	root := &cobra.Command{Use: "kubectl-tidb", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(New(factory.New(streams, func(name string) string { return u.env[name] }, "v1.2.3")))
	root.SetArgs(append([]string{"completion"}, args...))
	root.SetOut(&out)
	err := root.Execute()
	return out.String(), err
}

// TestInstall: each shell gets its file, the program for kubectl lies beside the plugin, and the
// second time nothing changes.
func TestInstall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the plugin on the PATH is a shell script")
	}
	for shell, want := range map[string]struct{ file, says string }{
		"":           {"", `"kubectl tidb" is completed in shells in which kubectl is`},
		"bash":       {".local/share/bash-completion/completions/kubectl-tidb", "open a new one"},
		"zsh":        {".local/share/zsh/site-functions/_kubectl-tidb", "fpath=("},
		"fish":       {".config/fish/completions/kubectl-tidb.fish", "open a new one"},
		"powershell": {".config/powershell/kubectl-tidb.ps1", "$PROFILE"},
	} {
		u := newUser(t)
		files := []string{filepath.Join(u.bin, kubectlName)}
		if want.file != "" {
			files = append(files, filepath.Join(u.home, want.file))
		}
		first, err := u.run(t, append([]string{"install"}, strings.Fields(shell)...)...)
		if err != nil || strings.Count(first, " is written\n") != len(files) || !strings.Contains(first, want.says) {
			t.Errorf("%s: %v %s", shell, err, first)
		}
		for _, file := range files {
			if content, err := os.ReadFile(file); err != nil || len(content) == 0 || !strings.Contains(first, file+" is written") {
				t.Errorf("%s: %v %s", shell, err, first)
			}
		}
		if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v", shell, err)
		}
		again, err := u.run(t, append([]string{"install"}, strings.Fields(shell)...)...)
		if err != nil || strings.Count(again, " is up to date\n") != len(files) || strings.Contains(again, "is written") {
			t.Errorf("%s, again: %v %s", shell, err, again)
		}
	}
}

// TestInstallElsewhere: where the plugin's folder cannot be written, and where the user says.
func TestInstallElsewhere(t *testing.T) {
	u := newUser(t)
	// A folder in place of the file: also root cannot write it.
	if err := os.Mkdir(filepath.Join(u.bin, kubectlName), 0o755); err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(u.home, ".local", "bin")
	if out, err := u.run(t, "install"); err != nil || !strings.Contains(out, filepath.Join(local, kubectlName)+" is written") || !strings.Contains(out, local+" is not on the PATH") {
		t.Errorf("%v %s", err, out)
	}
	dir := filepath.Join(u.home, "mine")
	if out, err := u.run(t, "install", "--dir", dir); err != nil || !strings.Contains(out, filepath.Join(dir, kubectlName)+" is written") {
		t.Errorf("%v %s", err, out)
	}
	if _, err := u.run(t, "install", "--dir", u.bin); err == nil || exit.Of(err) != exit.Failure {
		t.Errorf("a folder that the user names has no other in its place: %v", err)
	}
}

// TestInstallKeeps: a file of another origin stays.
func TestInstallKeeps(t *testing.T) {
	u := newUser(t)
	file := filepath.Join(u.bin, kubectlName)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n# mine\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := u.run(t, "install"); exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), file+" was not written by this command") {
		t.Errorf("%v", err)
	}
	if content, _ := os.ReadFile(file); !strings.Contains(string(content), "# mine") {
		t.Errorf("%s", content)
	}
}

func TestWindows(t *testing.T) {
	home := t.TempDir()
	p := placesOf(func(name string) string { return map[string]string{"USERPROFILE": home}[name] }, "windows", filepath.Join(home, "bin"))
	var out bytes.Buffer
	if err := p.install(&out, &cobra.Command{Use: "kubectl-tidb"}, "powershell"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(home, "bin", kubectlName+".cmd"))
	if err != nil || string(content) != "@kubectl tidb __complete %*\r\n" {
		t.Errorf("%v %q", err, content)
	}
}

func TestArguments(t *testing.T) {
	u := newUser(t)
	for args, says := range map[string]string{
		"tcsh": "no completion for the shell", "install tcsh": "no completion for the shell", "bash zsh": "at most 1", "install bash zsh": "at most 1",
		"bash install": "at most 1", "bash --dir x": "--dir goes with install",
	} {
		if out, err := u.run(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v %s", args, err, out)
		}
	}
	if out, err := u.run(t); err != nil || out != script {
		t.Errorf("%v %s", err, out)
	}
}
