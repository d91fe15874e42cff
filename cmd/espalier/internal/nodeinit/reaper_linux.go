// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package nodeinit

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// reaper starts processes, and waits for them and for orphans, which the kernel reparents to the first process. So nothing else in this
// process may wait for a child, including os/exec.
type reaper struct {
	mu    sync.Mutex
	known map[int]chan<- syscall.WaitStatus
}

func newReaper() *reaper {
	r := &reaper{known: map[int]chan<- syscall.WaitStatus{}}
	signals := make(chan os.Signal, 1) // One pending signal stands for all children that have ended.
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		for range signals {
			for r.reap() {
				continue
			}
		}
	}()
	return r
}

// reap reaps one child that has ended.
func (r *reaper) reap() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var status syscall.WaitStatus
	id, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	if errors.Is(err, syscall.EINTR) {
		return true
	}
	if err != nil || id <= 0 {
		return false
	}
	if ended, found := r.known[id]; found {
		delete(r.known, id)
		ended <- status
	}
	return true
}

// start returns a channel that receives the end of the process. The program is this one if the first argument is empty.
func (r *reaper) start(arguments, env []string, output *os.File) (<-chan syscall.WaitStatus, error) {
	path, arguments, err := locate(arguments)
	if err != nil {
		return nil, err
	}
	input, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer input.Close()
	r.mu.Lock() // so that the process is known before it is reaped
	defer r.mu.Unlock()
	id, err := syscall.ForkExec(path, arguments, &syscall.ProcAttr{
		Dir: "/", Env: env, Files: []uintptr{input.Fd(), output.Fd(), output.Fd()},
	})
	if err != nil {
		return nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	r.known[id] = ended
	return ended, nil
}

func locate(arguments []string) (path string, all []string, err error) {
	if arguments[0] == "" {
		return "/proc/self/exe", append([]string{"espalier-node"}, arguments[1:]...), nil
	}
	path, err = exec.LookPath(arguments[0])
	return path, arguments, err
}
