// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package nodetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"espalier.dev/cmd/espalier/internal/nodeinit"
)

// Traces returns what a node creates on this machine, or could: cgroups, interfaces, mounts, processes, directories, firewall rules and
// kernel settings.
func Traces(t testing.TB) map[string]bool {
	t.Helper()
	result := map[string]bool{}
	for kind, patterns := range map[string][]string{
		"cgroup": {
			"/sys/fs/cgroup/*/espalier-node-*", "/sys/fs/cgroup/espalier-node-*", "/sys/fs/cgroup/*/kubepods*", "/sys/fs/cgroup/*/k8s.io",
		},
		"interface": {"/sys/class/net/espalier*", "/sys/class/net/pods", "/sys/class/net/kube*"},
		"directory": {
			"/run/containerd", "/run/node", "/run/runc", "/run/trial", "/run/netns", "/run/pod-addresses", "/var/lib/containerd", "/var/lib/kubelet",
			"/var/lib/cni", "/var/log/pods", "/var/log/containers", "/opt/containerd", filepath.Join(os.TempDir(), "espalier-trial-*"),
		},
	} {
		for _, pattern := range patterns {
			for _, path := range matches(t, pattern) {
				result[kind+" "+path] = true
			}
		}
	}
	for line := range strings.Lines(read(t, "/proc/self/mounts")) {
		result["mount "+strings.TrimSpace(line)] = true
	}
	for _, process := range matches(t, "/proc/[0-9]*") {
		if ofNode(process) {
			name, _ := os.ReadFile(filepath.Join(process, "comm")) // It may have ended.
			result[fmt.Sprintf("process %s %s", process, strings.TrimSpace(string(name)))] = true
		}
	}
	for _, setting := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward",
	} {
		result[fmt.Sprintf("setting %s=%s", setting, strings.TrimSpace(read(t, "/proc/sys/"+setting)))] = true
	}
	tables, err := exec.CommandContext(t.Context(), "nft", "list", "tables").Output()
	if err != nil {
		t.Fatalf("nft: %v", err)
	}
	for line := range strings.Lines(string(tables)) {
		result["firewall "+strings.TrimSpace(line)] = true
	}
	return result
}

// NothingLeft fails the test for each trace that did not exist before.
func NothingLeft(t testing.TB, before map[string]bool) {
	t.Helper()
	for trace := range Traces(t) {
		if !before[trace] {
			t.Errorf("left: %s", trace)
		}
	}
}

// ofNode reports whether a process belongs to a node: its programs see the directory of the node, and pods are in its cgroup.
func ofNode(process string) bool {
	mounts, _ := os.ReadFile(filepath.Join(process, "mountinfo")) // It may have ended.
	cgroups, _ := os.ReadFile(filepath.Join(process, "cgroup"))
	return strings.Contains(string(mounts), " "+nodeinit.StateDir+" ") || strings.Contains(string(cgroups), "/espalier-node-")
}

func matches(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
