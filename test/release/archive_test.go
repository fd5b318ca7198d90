package release

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
)

type entry struct {
	content []byte
	mode    os.FileMode
}

// contents returns the files of an archive.
func contents(file string) (map[string]entry, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if strings.HasSuffix(file, ".zip") {
		return zipped(in)
	}
	files := map[string]entry{}
	plain, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files[header.Name] = entry{content, header.FileInfo().Mode()}
	}
}

func zipped(in *os.File) (map[string]entry, error) {
	stat, err := in.Stat()
	if err != nil {
		return nil, err
	}
	r, err := zip.NewReader(in, stat.Size())
	if err != nil {
		return nil, err
	}
	files := map[string]entry{}
	for _, f := range r.File {
		from, err := f.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(from)
		if err != nil {
			return nil, err
		}
		files[f.Name] = entry{content, f.Mode()}
	}
	return files, nil
}
