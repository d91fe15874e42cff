// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"espalier.dev/internal/cli"
)

// grace is how long an interrupted program may take to end before it is killed.
const grace = 5 * time.Second

// external has another program show the differences: it gets two directories, each with one file for each object. The files are without
// secrets, as everything else.
type external struct {
	command string
	pairs   []files
}

type files struct {
	name          string
	before, after []string
}

func (e *external) add(name string, before, after []string) {
	e.pairs = append(e.pairs, files{name: name, before: before, after: after})
}

// show runs the program, if there is something to show.
func (e *external) show(ctx context.Context, env cli.Environment) error {
	if len(e.pairs) == 0 {
		return nil
	}
	return env.Interruptible(ctx, func(ctx context.Context) error { return e.run(ctx, env) })
}

// run writes the files, runs the program and deletes the files. That the program finds differences is no error. If the context ends before
// the program, it must end, too: it may have to restore the terminal.
func (e *external) run(ctx context.Context, env cli.Environment) error {
	directory, err := os.MkdirTemp("", "espalier-diff-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	for _, pair := range e.pairs {
		for side, lines := range map[string][]string{"live": pair.before, "next": pair.after} {
			if err := write(filepath.Join(directory, side), pair.name, lines); err != nil {
				return err
			}
		}
	}
	words := strings.Fields(e.command)
	words = append(words, filepath.Join(directory, "live"), filepath.Join(directory, "next"))
	program := exec.CommandContext(ctx, words[0], words[1:]...)
	program.Stdin, program.Stdout, program.Stderr = env.In, env.Out, env.ErrOut
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	program.WaitDelay = grace
	err = program.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var ended *exec.ExitError
	if err == nil || errors.As(err, &ended) && ended.ExitCode() == ExitDiffers {
		return nil
	}
	return fmt.Errorf("run %s, which %s names: %w", words[0], externalVariable, err)
}

// write writes a side of an object. One that does not exist has no file.
func write(directory, name string, lines []string) error {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	if lines == nil {
		return nil
	}
	file := filepath.Join(directory, strings.NewReplacer("/", "_", "<", "", ">", "").Replace(name))
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}
