//go:build !windows

package report

import "os"

func enableCursor(*os.File) bool { return true }
