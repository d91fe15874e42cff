// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	cgroupMount  = "/sys/fs/cgroup"
	cgroupPrefix = "espalier-node-"

	// burialTime is how long the kernel may take to remove the processes of a cgroup.
	burialTime = time.Minute
	// burialPace is the polling interval; there is nothing to watch.
	burialPace = 20 * time.Millisecond
)

// hierarchies returns the directories that each contain a tree of cgroups.
func hierarchies() []string { return hierarchiesIn(cgroupMount) }

// hierarchiesIn finds one tree with cgroups v2, and several with v1, one of which may be v2.
func hierarchiesIn(mount string) []string {
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
		return []string{mount}
	}
	entries, err := os.ReadDir(mount)
	if err != nil {
		return nil
	}
	var result []string
	for _, entry := range entries {
		if entry.IsDir() { // Links are aliases.
			result = append(result, filepath.Join(mount, entry.Name()))
		}
	}
	return result
}

// makeCgroups creates the cgroup of the node in each hierarchy, because the kubelet does not start without it.
func makeCgroups(name string) error {
	for _, hierarchy := range hierarchies() {
		if err := os.Mkdir(filepath.Join(hierarchy, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("create the cgroup of the node: %w", err)
		}
	}
	return nil
}

// removeCgroups removes the cgroups with that name and all below them, and kills the processes that still run there.
func removeCgroups(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, burialTime)
	defer cancel()
	for _, hierarchy := range hierarchies() {
		path := filepath.Join(hierarchy, name)
		for {
			err := removeTree(path)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("remove the cgroup %s: %w", path, err)
			case <-time.After(burialPace):
			}
		}
	}
	return nil
}

// removeTree removes a cgroup after those below it. Its files disappear with it.
func removeTree(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(path, entry.Name())); err != nil {
				return err
			}
		}
	}
	err = os.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	killAll(path)
	return err
}

func killAll(path string) {
	content, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(content)) {
		if id, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && id > 1 {
			kill(id)
		}
	}
}

func kill(id int) {
	if process, err := os.FindProcess(id); err == nil {
		_ = process.Kill()
	}
}

// removeAbandonedCgroups removes the cgroups of processes that no longer exist.
func removeAbandonedCgroups(ctx context.Context) error {
	var errs []error
	for _, hierarchy := range hierarchies() {
		entries, err := os.ReadDir(hierarchy)
		if err != nil {
			return fmt.Errorf("look for abandoned cgroups: %w", err)
		}
		for _, entry := range entries {
			if made, ours := ownerOfCgroup(entry.Name()); ours && !made.isRunning() {
				errs = append(errs, removeCgroups(ctx, entry.Name()))
			}
		}
	}
	return errors.Join(errs...)
}

// cgroupOf returns the name of the cgroup of a node: its owner and, since one process may have several nodes, a number.
func cgroupOf(o owner, number int) string { return fmt.Sprintf("%s%s-%d", cgroupPrefix, o, number) }

// ownerOfCgroup parses what cgroupOf returns.
func ownerOfCgroup(name string) (o owner, ours bool) {
	rest, ours := strings.CutPrefix(name, cgroupPrefix)
	end := strings.LastIndexByte(rest, '-')
	if !ours || end < 0 {
		return owner{}, false
	}
	return parseOwner(rest[:end])
}
