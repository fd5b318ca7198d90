// Command pack makes a container image of the plugin, without a container engine.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/image"
)

func main() {
	program := flag.String("program", "", "the plugin, built for Linux without cgo")
	architecture := flag.String("arch", "amd64", "what it was built for")
	reference := flag.String("reference", "", "name of the image, with its registry and tag")
	out := flag.String("o", "", "archive to write")
	flag.Parse()
	if err := pack(image.Plugin(*reference, *program, *architecture), *out); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(i image.Image, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := image.Write(file, []image.Image{i}); err != nil {
		_ = file.Close()
		_ = os.Remove(path)
		return err
	}
	return file.Close()
}
