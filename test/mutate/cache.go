package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Cache is a build cache of its own. Each mutant adds some megabytes that nobody
// needs again, and a developer's cache is not the place for gigabytes of them.
type Cache struct {
	Dir string

	mu   sync.RWMutex // held for reading while go uses the cache
	keep map[string]bool
	uses sync.Mutex
	used int
}

// often is how many mutants are tested before the cache is swept.
const often = 40

// Keep has what the cache holds now stay in it.
func (c *Cache) Keep() error {
	c.keep = map[string]bool{}
	return filepath.WalkDir(c.Dir, func(path string, _ fs.DirEntry, err error) error {
		c.keep[path] = true
		return err
	})
}

// Use is called before go uses the cache, and Done after it.
func (c *Cache) Use() { c.mu.RLock() }

// Done lets the cache be swept.
func (c *Cache) Done() {
	c.mu.RUnlock()
	c.uses.Lock()
	defer c.uses.Unlock()
	if c.used++; c.used%often == 0 {
		c.Sweep()
	}
}

// Sweep removes what came after Keep. A file that cannot be removed only costs
// space.
func (c *Cache) Sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = filepath.WalkDir(c.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !c.keep[path] {
			_ = os.Remove(path)
		}
		return nil
	})
}
