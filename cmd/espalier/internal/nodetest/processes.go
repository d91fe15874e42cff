// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package nodetest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Process is a process of a container, as this machine sees it.
type Process int

// ProcessOf returns the only process of a container, given the container ID in the status of its pod. Zero means that there is none: it has
// ended or has not started.
func ProcessOf(t testing.TB, containerID string) Process {
	t.Helper()
	_, id, found := strings.Cut(containerID, "://")
	if !found {
		return 0
	}
	for _, directory := range matches(t, "/proc/[0-9]*") {
		cgroups, _ := os.ReadFile(filepath.Join(directory, "cgroup")) // It may have ended.
		if !strings.Contains(string(cgroups), "/"+id) {
			continue
		}
		number, err := strconv.Atoi(filepath.Base(directory))
		if err != nil {
			t.Fatal(err)
		}
		return Process(number)
	}
	return 0
}

// Status returns the kernel's status of the process: user, capabilities and the like, under the names of proc(5).
func (p Process) Status(t testing.TB) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for line := range strings.Lines(read(t, p.file("status"))) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	return fields
}

// Writable returns the mounts that the process could write to, by their paths.
func (p Process) Writable(t testing.TB) map[string]bool {
	t.Helper()
	const path, options = 4, 5
	writable := map[string]bool{}
	for line := range strings.Lines(read(t, p.file("mountinfo"))) {
		if fields := strings.Fields(line); strings.HasPrefix(fields[options]+",", "rw,") {
			writable[fields[path]] = true
		}
	}
	return writable
}

func (p Process) file(name string) string { return filepath.Join("/proc", strconv.Itoa(int(p)), name) }
