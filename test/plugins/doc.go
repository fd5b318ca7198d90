// Package plugins holds the files for other tools to what these tools publish about them, and runs
// the shell parts with programs that only record how they are called. It is a module of its own,
// since it needs what the plugin does not.
package plugins
