// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"espalier.dev/cmd/espalier/internal/nodeinit"
)

// firstProcess is the first process of a node, as seen from outside.
type firstProcess struct {
	cmd     *exec.Cmd
	dir     string // of the node
	orders  io.WriteCloser
	answers chan nodeinit.News

	mu   sync.Mutex
	lost error // why the node exited unexpectedly

	// over is closed when the process, and with it all other processes of the node, has ended.
	over chan struct{}
}

// startFirst returns when the process accepts orders.
func startFirst(ctx context.Context, program, dir string) (*firstProcess, error) {
	log, err := os.OpenFile(filepath.Join(dir, logFolder, "init.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	defer log.Close()
	p := &firstProcess{
		cmd: exec.Command(program, "init", dir, Name), dir: dir, answers: make(chan nodeinit.News), over: make(chan struct{}),
	}
	p.cmd.Env, p.cmd.Dir, p.cmd.Stderr, p.cmd.SysProcAttr = os.Environ(), "/", log, apart()
	if p.orders, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	news, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	if err := p.launch(news); errors.Is(err, syscall.EPERM) {
		return nil, fmt.Errorf("%w: it may not create namespaces: the process needs CAP_SYS_ADMIN (%w)", ErrUnfit, err)
	} else if err != nil {
		return nil, fmt.Errorf("start the node: %w", err)
	}
	if err := p.answer(ctx); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// launch starts the process on a thread that lives as long as the process: the kernel treats the end of the thread as the end of the
// parent.
func (p *firstProcess) launch(news io.Reader) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.listen(news)
		err = p.cmd.Wait()
		p.lose(fmt.Errorf("the first process of the node has ended: %w", errors.Join(err, errors.New(p.endOf("init")))))
		close(p.over)
	}()
	return <-started
}

// listen receives news from the process until it ends.
func (p *firstProcess) listen(news io.Reader) {
	decoder := json.NewDecoder(news)
	for {
		var next nodeinit.News
		if err := decoder.Decode(&next); err != nil {
			close(p.answers)
			return
		}
		if next.Ended == "" {
			p.answers <- next
			continue
		}
		p.lose(fmt.Errorf("%s has ended: %s: %s", next.Ended, next.How, p.endOf(next.Ended)))
		_ = p.cmd.Process.Kill() // A node that lacks a part is useless.
	}
}

// lose keeps the first reason why the node ended.
func (p *firstProcess) lose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost == nil {
		p.lost = err
	}
}

func (p *firstProcess) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// order returns when the order has been executed.
func (p *firstProcess) order(ctx context.Context, order nodeinit.Order) error {
	line, err := json.Marshal(order)
	if err != nil {
		return fmt.Errorf("send an order to the node: %w", err)
	}
	if _, err := p.orders.Write(append(line, '\n')); err != nil {
		return errors.Join(p.reason(), fmt.Errorf("send an order to the node: %w", err))
	}
	return p.answer(ctx)
}

func (p *firstProcess) answer(ctx context.Context) error {
	select {
	case news, open := <-p.answers:
		if !open {
			<-p.over
			return p.reason()
		}
		if news.Error != "" {
			return fmt.Errorf("start the node: %s", news.Error)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("start the node: %w", context.Cause(ctx))
	}
}

// shownLog is how many bytes of a log an error quotes.
const shownLog = 2000

// endOf returns the last lines of a program's log, which explain why it ended.
func (p *firstProcess) endOf(program string) string {
	path := filepath.Join(p.dir, logFolder, program+".log")
	content, err := os.ReadFile(path)
	if err != nil {
		return "it has no log"
	}
	return fmt.Sprintf("%s ends with:\n%s", path, strings.ToValidUTF8(string(content[max(0, len(content)-shownLog):]), ""))
}

// kill ends all processes of the node and waits until they are gone.
func (p *firstProcess) kill() {
	_ = p.cmd.Process.Kill()
	for range p.answers {
		continue // Drop answers that nobody waits for.
	}
	<-p.over
}

// command returns a command that runs inside the node.
func (p *firstProcess) command(ctx context.Context, arguments ...string) *exec.Cmd {
	enter := []string{"--target", fmt.Sprint(p.cmd.Process.Pid), "--mount", "--net", "--uts", "--ipc", "--"}
	return exec.CommandContext(ctx, "nsenter", append(enter, arguments...)...)
}
