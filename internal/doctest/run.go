// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Limits after which something hangs rather than works.
const (
	blockLimit = 10 * time.Minute
	readyLimit = 6 * time.Minute
	stopLimit  = time.Minute
)

// runner is one run through a page.
type runner struct {
	out *sharedWriter
	// state is a file with the exported variables at the end of the latest block.
	state string
}

// Run executes the blocks in order and writes what they print to out.
func Run(ctx context.Context, blocks []Block, out io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "readme-")
	if err != nil {
		return fmt.Errorf("create a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	r := &runner{out: &sharedWriter{to: out}, state: filepath.Join(folder, "state")}
	if err := os.WriteFile(r.state, nil, 0o600); err != nil {
		return fmt.Errorf("keep the state between blocks: %w", err)
	}
	for _, block := range blocks {
		fmt.Fprintf(r.out, "--- line %d\n%s\n---\n", block.Line, block.Code)
		if block.Until == "" {
			err = r.foreground(ctx, block)
		} else {
			var job *job
			job, err = r.background(ctx, block)
			defer func() { err = errors.Join(err, job.stop()) }()
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", block.Line, err)
		}
	}
	return nil
}

// sharedWriter lets background and foreground blocks write in turns.
type sharedWriter struct {
	mutex sync.Mutex
	to    io.Writer
}

func (w *sharedWriter) Write(text []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.to.Write(text)
}

// shell prepares Bash for a block, with the variables that earlier blocks exported.
func (r *runner) shell(ctx context.Context, code string) *exec.Cmd {
	prologue := `set -euo pipefail; source "$README_STATE"; cd "$PWD"`
	cmd := exec.CommandContext(ctx, "bash", "-c", prologue+"\n"+code)
	cmd.Env = append(os.Environ(), "README_STATE="+r.state)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return signalGroup(cmd, syscall.SIGKILL) }
	return cmd
}

// signalGroup signals the shell and everything that it started, as a terminal does.
func signalGroup(cmd *exec.Cmd, signal syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, signal)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

func (r *runner) foreground(ctx context.Context, block Block) error {
	ctx, cancel := context.WithTimeout(ctx, blockLimit)
	defer cancel()
	cmd := r.shell(ctx, block.Code+"\n"+`export -p > "$README_STATE"`)
	var printed bytes.Buffer
	both := io.MultiWriter(r.out, &printed)
	cmd.Stdout, cmd.Stderr = both, both
	if err := cmd.Run(); err != nil {
		return err
	}
	return block.Output.Check(printed.String())
}

// job is a block that runs in the background.
type job struct {
	line  int
	cmd   *exec.Cmd
	ended chan error
}

func (r *runner) background(ctx context.Context, block Block) (*job, error) {
	output := &watcher{out: r.out, text: []byte(block.Until), seen: make(chan struct{})}
	j := &job{line: block.Line, cmd: r.shell(ctx, block.Code), ended: make(chan error, 1)}
	j.cmd.Stdout, j.cmd.Stderr = output, output
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { j.ended <- j.cmd.Wait() }()
	select {
	case <-output.seen:
		return j, block.Output.Check(output.printed.String())
	case err := <-j.ended:
		j.ended <- err
		return j, fmt.Errorf("ended before it printed %q", block.Until)
	case <-time.After(readyLimit):
		return j, fmt.Errorf("did not print %q within %s", block.Until, readyLimit)
	}
}

// watcher passes text on and closes seen once a line with a certain text has appeared.
type watcher struct {
	out  io.Writer
	text []byte
	seen chan struct{}
	// printed is the output up to that line.
	printed bytes.Buffer
	found   bool
}

func (w *watcher) Write(text []byte) (int, error) {
	if !w.found {
		w.printed.Write(text)
		_, after, _ := bytes.Cut(w.printed.Bytes(), w.text)
		if _, rest, ended := bytes.Cut(after, []byte("\n")); ended {
			w.printed.Truncate(w.printed.Len() - len(rest))
			w.found = true
			close(w.seen)
		}
	}
	return w.out.Write(text)
}

// stop interrupts the block and waits for its end.
func (j *job) stop() error {
	if j == nil {
		return nil
	}
	if err := signalGroup(j.cmd, syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("line %d: interrupt: %w", j.line, err)
	}
	select {
	case err := <-j.ended:
		if err != nil {
			return fmt.Errorf("line %d: stopped with an error: %w", j.line, err)
		}
		return nil
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("line %d: did not stop within %s", j.line, stopLimit), signalGroup(j.cmd, syscall.SIGKILL))
	}
}
