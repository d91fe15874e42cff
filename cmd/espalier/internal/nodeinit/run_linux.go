// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package nodeinit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Run runs the first process of a node. The state directory is the path of the node's directory outside its namespaces.
func Run(state, hostname string, in io.Reader, out io.Writer) error {
	if os.Getpid() != 1 {
		return errors.New("this is the first process of a node: \"espalier up --node\" starts it")
	}
	i := &initProcess{out: json.NewEncoder(out)}
	if err := prepare(state, hostname); err != nil {
		i.tell(News{Error: err.Error()})
		return err
	}
	i.children = newReaper()
	i.tell(News{Done: true})
	orders := json.NewDecoder(in)
	for {
		var order Order
		if err := orders.Decode(&order); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		if err := i.obey(order); err != nil {
			i.tell(News{Error: err.Error()})
			continue
		}
		i.tell(News{Done: true})
	}
}

type initProcess struct {
	children *reaper

	mu  sync.Mutex
	out *json.Encoder
}

// tell ends everything if the reader of the news has ended.
func (i *initProcess) tell(news News) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.out.Encode(news); err != nil {
		os.Exit(1)
	}
}

func (i *initProcess) obey(order Order) error {
	switch {
	case order.Network != nil:
		return i.connect(*order.Network)
	case order.Start != nil:
		return i.start(*order.Start)
	}
	return errors.New("the order is empty")
}

func (i *initProcess) start(process Process) error {
	log, err := os.OpenFile(filepath.Join(StateDir, "log", process.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", process.Name, err)
	}
	defer log.Close()
	ended, err := i.children.start(process.Args, append([]string{searchPath, "HOME=/run"}, process.Env...), log)
	if err != nil {
		return fmt.Errorf("start %s: %w", process.Name, err)
	}
	go func() { i.tell(News{Ended: process.Name, How: describe(<-ended)}) }()
	return nil
}

func (i *initProcess) connect(network Network) error {
	commands := [][]string{
		{"link", "set", "lo", "up"},
		// A fixed address prevents the bridge from using that of a port that is added or removed.
		{"link", "add", network.Bridge, "address", "02:00:00:00:00:01", "type", "bridge"},
		{"link", "set", network.Uplink, "master", network.Bridge, "up"},
		{"address", "add", network.Address, "dev", network.Bridge},
		{"link", "set", network.Bridge, "up"},
		{"route", "add", "default", "via", network.Gateway},
	}
	for _, arguments := range commands {
		if err := i.ip(arguments); err != nil {
			return err
		}
	}
	settings := map[string]string{
		"ip_forward": "1",
		// Forwarded traffic of a service leaves through the interface through which it arrived, without a redirect.
		"conf/all/send_redirects":                    "0",
		"conf/" + network.Bridge + "/send_redirects": "0",
	}
	for name, value := range settings {
		if err := os.WriteFile(filepath.Join("/proc/sys/net/ipv4", name), []byte(value), 0o644); err != nil {
			return fmt.Errorf("set up the network: %w", err)
		}
	}
	return nil
}

// ip runs the command ip.
func (i *initProcess) ip(arguments []string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("run ip: %w", err)
	}
	defer read.Close()
	ended, err := i.children.start(append([]string{"ip"}, arguments...), []string{searchPath}, write)
	_ = write.Close()
	if err != nil {
		return fmt.Errorf("run ip: %w", err)
	}
	output, err := io.ReadAll(read)
	if err != nil {
		return fmt.Errorf("run ip: %w", err)
	}
	if status := <-ended; status.ExitStatus() != 0 {
		return fmt.Errorf("ip %v: %s: %s", arguments, describe(status), output)
	}
	return nil
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "killed by the signal " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}
