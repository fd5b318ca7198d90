package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Key identifies a part's result by everything that goes into it, so that a cached binary is used exactly as long as
// nothing about it has changed.
func Key(part Part, folder, goVersion string) (string, error) {
	files, err := moduleFiles(folder)
	if err != nil {
		return "", fmt.Errorf("read the sources of part %s: %w", part.Name, err)
	}
	sum := sha256.New()
	words := append([]string{goVersion}, part.arguments("")...)
	for _, correction := range part.Corrections {
		words = append(words, fmt.Sprintf("%q", correction))
	}
	for _, word := range words {
		fmt.Fprintf(sum, "%d:%s\n", len(word), word)
	}
	for _, name := range files {
		if err := addFile(sum, folder, name); err != nil {
			return "", fmt.Errorf("read the sources of part %s: %w", part.Name, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// moduleFiles lists what the compiler reads of a folder. Tests are left out: they do not reach the binary.
func moduleFiles(folder string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if entry.IsDir() || (!source && name != "go.mod" && name != "go.sum") {
			return nil
		}
		relative, err := filepath.Rel(folder, path)
		files = append(files, relative)
		return err
	})
	sort.Strings(files)
	return files, err
}

func addFile(sum io.Writer, folder, name string) error {
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	// Lengths keep the boundary between a name and a content unambiguous.
	_, err = fmt.Fprintf(sum, "%d:%s\n%d:%s\n", len(name), name, len(content), content)
	return err
}
