// Command starttime measures how long the plugin takes to start, beside kubectl. It fails when the
// plugin is the slower one.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// commands are those that ask no server.
var commands = [][]string{{"--help"}, {"version", "--client"}}

// program is one of those that are compared.
type program struct {
	name string
	argv []string // before the arguments of the command
}

func main() {
	kubectl := flag.String("kubectl", "kubectl", "kubectl's `program`")
	plugin := flag.String("plugin", "bin/kubectl-tidb", "the plugin's `program`")
	rounds := flag.Int("rounds", 41, "how often each command runs")
	flag.Parse()
	if err := run(*kubectl, *plugin, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "starttime:", err)
		os.Exit(1)
	}
}

func run(kubectl, plugin string, rounds int) error {
	plugin, err := filepath.Abs(plugin)
	if err != nil {
		return err
	}
	// kubectl finds the plugin by its name.
	if err := os.Setenv("PATH", filepath.Dir(plugin)+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		return err
	}
	programs := []program{{"kubectl-tidb", []string{plugin}}, {"kubectl", []string{kubectl}}, {"kubectl tidb", []string{kubectl, "tidb"}}}
	fmt.Printf("| median of %d | %s | %s | %s, which starts both | kubectl-tidb / kubectl |\n|---|---|---|---|---|\n",
		rounds, programs[0].name, programs[1].name, programs[2].name)
	slower := false
	for _, args := range commands {
		took, err := measure(programs, args, rounds)
		if err != nil {
			return err
		}
		ratio := took[0].Seconds() / took[1].Seconds()
		slower = slower || ratio > 1
		fmt.Printf("| `%s` | %.0f ms | %.0f ms | %.0f ms | %.2f |\n", strings.Join(args, " "), ms(took[0]), ms(took[1]), ms(took[2]), ratio)
	}
	if slower {
		return errors.New("the plugin starts more slowly than kubectl")
	}
	return nil
}

// measure returns the median of each program. They run by turns, so that what else the machine does
// is the same for all of them; the first round fills caches and does not count.
func measure(programs []program, args []string, rounds int) ([]time.Duration, error) {
	all := make([][]time.Duration, len(programs))
	for round := range rounds + 1 {
		for turn := range programs {
			i := (turn + round) % len(programs)
			argv := slices.Concat(programs[i].argv, args)
			begun := time.Now()
			out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
			if err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
			}
			if round > 0 {
				all[i] = append(all[i], time.Since(begun))
			}
		}
	}
	var medians []time.Duration
	for _, took := range all {
		slices.Sort(took)
		medians = append(medians, took[len(took)/2])
	}
	return medians, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
