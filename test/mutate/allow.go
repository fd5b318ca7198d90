package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// Allowed are mutants that survive for a reason: no test can distinguish them from the
// original. A line of the file is a mutant's key, " -- ", and the reason.
type Allowed map[string]string

// Allow reads the file of explained survivors.
func Allow(path string) (Allowed, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	allowed := Allowed{}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, " -- ")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: want a mutant, \" -- \" and why no test can kill it", path, n)
		}
		allowed[strings.TrimSpace(key)] = reason
	}
	return allowed, lines.Err()
}

// Stale are the entries that name no mutant any more.
func (a Allowed) Stale(all []Mutant) []string {
	there := map[string]bool{}
	for _, m := range all {
		there[m.Key] = true
	}
	var stale []string
	for key := range a {
		if !there[key] {
			stale = append(stale, key)
		}
	}
	return stale
}
