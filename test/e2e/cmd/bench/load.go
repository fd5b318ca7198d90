package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// spinFlag is the flag with which the bench starts itself to use up a processor.
const spinFlag = "-spin"

// spin uses up a processor until in ends, which it does with the process that has started this one.
func spin(in io.Reader) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, in)
	}()
	for {
		select {
		case <-over:
			return
		default:
		}
	}
}

// load starts processes that each use up a processor, and returns what ends them.
func load(ctx context.Context, processes int) (end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(ctx, processes, self, spinFlag)
}

// start starts processes that end with their input, and returns what ends them.
func start(ctx context.Context, processes int, program string, args ...string) (end func() error, err error) {
	var ends []func() error
	end = func() error {
		var all error
		for _, one := range ends {
			all = errors.Join(all, one())
		}
		return all
	}
	for range processes {
		cmd := exec.CommandContext(ctx, program, args...)
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start a process that uses up a processor: %w", err), end())
		}
		ends = append(ends, func() error { return errors.Join(in.Close(), cmd.Wait()) })
	}
	return end, nil
}
