// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"espalier.dev/cmd/espalier/internal/nodeinit"
)

// The parts of a trial, which the program runs one after the other, and the files that they share.
const (
	trialInside    = "inside"
	trialContained = "contained"

	// trialProgram is the program in the lower layer of the overlay of its container.
	trialLayer, trialProgram = "lower", "program"
	// trialResult is a file that exists if everything has worked.
	trialResult = "result"
	trialPassed = "this machine can run a node\n"
)

// Try tests on this machine what a node requires, on a small scale and without Kubernetes: it creates network, cgroups and namespaces, and
// in them mounts an overlay, translates addresses, and lets runc run a container. So it detects problems that no list of requirements
// shows, such as the restrictions of a container in which all this runs. The error names what this machine does not permit. Try leaves
// nothing behind.
//
// The program passes its arguments to TrialPart, and needs no libraries.
func Try(ctx context.Context, program string) error {
	if err := Check(Programs{Node: program, Pause: program}); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "espalier-trial-")
	if err != nil {
		return fmt.Errorf("try the machine: %w", err)
	}
	defer os.RemoveAll(dir)
	network, err := Claim(ctx)
	if err != nil {
		return unfit(err)
	}
	n := &Node{network: network, cgroup: cgroupOf(network.owner, network.number)}
	err = n.try(ctx, program, dir)
	if n.first != nil {
		n.first.kill()
	}
	return unfit(errors.Join(err, n.cleanUp(context.WithoutCancel(ctx))))
}

func unfit(err error) error {
	if err == nil || errors.Is(err, ErrUnfit) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnfit, err)
}

func (n *Node) try(ctx context.Context, program, dir string) (err error) {
	layer := filepath.Join(dir, containerdFolder, trialLayer)
	for _, folder := range []string{filepath.Join(dir, logFolder), layer} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("try the machine: %w", err)
		}
	}
	if err := copyProgram(program, filepath.Join(layer, trialProgram)); err != nil {
		return fmt.Errorf("try the machine: %w", err)
	}
	if err := makeCgroups(n.cgroup); err != nil {
		return err
	}
	if n.first, err = startFirst(ctx, program, dir); err != nil {
		return err
	}
	if err := n.connect(ctx); err != nil {
		return err
	}
	// When it ends, the node ends, which is always an error, regardless of the result.
	err = n.first.order(ctx, nodeinit.Order{Start: &nodeinit.Process{Name: trialInside, Args: []string{"", trialInside, n.cgroup}}})
	if err == nil {
		select {
		case <-n.first.over:
		case <-ctx.Done():
			return fmt.Errorf("it does not end: %w", context.Cause(ctx))
		}
	}
	return verdict(dir, err)
}

// verdict reads the result of the trial inside the namespaces.
func verdict(dir string, err error) error {
	if text, _ := os.ReadFile(filepath.Join(dir, trialResult)); string(text) == trialPassed {
		return nil
	}
	said, _ := os.ReadFile(filepath.Join(dir, logFolder, trialInside+".log"))
	if text := strings.TrimSpace(string(said)); text != "" {
		return errors.New(text)
	}
	return errors.Join(err, errors.New("the trial has ended without a result"))
}

func copyProgram(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
