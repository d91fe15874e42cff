// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"espalier.dev/cmd/espalier/internal/nodeinit"
)

// TrialPart runs the part of a trial that the arguments name, if they name one.
func TrialPart(arguments []string) (code int, known bool) {
	var err error
	switch {
	case len(arguments) == 3 && arguments[0] == "init":
		err = nodeinit.Run(arguments[1], arguments[2], os.Stdin, os.Stdout)
	case len(arguments) == 2 && arguments[0] == trialInside:
		err = tryInside(arguments[1])
	case len(arguments) == 1 && arguments[0] == trialContained:
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// tryInside tests in the namespaces of a node what its programs require.
func tryInside(cgroup string) error {
	for _, step := range []struct {
		what string
		try  func() error
	}{
		{"read the messages of the kernel, as the kubelet does", tryMessages},
		{"mount an overlay, as containerd does", tryOverlay},
		{"translate addresses, as the proxy does", tryTranslation},
		{"run a container with limits", func() error { return tryContainer(cgroup) }},
	} {
		if err := step.try(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return os.WriteFile(inside(trialResult), []byte(trialPassed), 0o600)
}

func tryMessages() error {
	file, err := os.Open("/dev/kmsg")
	if err != nil {
		return err
	}
	return file.Close()
}

// trialRoot returns the mount point of the overlay, which becomes the root of the container.
func trialRoot() string { return inside(containerdFolder, "rootfs") }

func tryOverlay() error {
	upper, work := inside(containerdFolder, "upper"), inside(containerdFolder, "work")
	for _, folder := range []string{upper, work, trialRoot()} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", inside(containerdFolder, trialLayer), upper, work)
	return syscall.Mount("overlay", trialRoot(), "overlay", 0, options)
}

// trialRules are of the kinds that the proxy creates for services.
const trialRules = `
table ip espalier-trial {
	map services { type ipv4_addr . inet_proto . inet_service : verdict; }
	chain endpoint { meta l4proto tcp dnat to 10.0.0.1:80; }
	chain service { numgen random mod 2 vmap { 0 : goto endpoint, 1 : goto endpoint }; }
	chain before {
		type nat hook prerouting priority -100;
		ip daddr . meta l4proto . th dport vmap @services;
		fib daddr type local goto service;
	}
	chain forward { type filter hook forward priority -110; ct state new counter; }
	chain after { type nat hook postrouting priority 100; meta mark and 0x4000 != 0 masquerade fully-random; }
}
`

func tryTranslation() error { return tryCommand(trialRules, "nft", "-f", "-") }

func tryContainer(cgroup string) error {
	bundle := inside(containerdFolder)
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), asJSON(trialContainer(cgroup)), 0o600); err != nil {
		return err
	}
	return tryCommand("", "runc", "--root", "/run/trial", "run", "--bundle", bundle, "trial")
}

// trialContainer returns the configuration for runc: a container like those of pods, with the mounts, namespaces and limits that need a
// right.
func trialContainer(cgroup string) map[string]any {
	mounts := []any{}
	for _, m := range []struct{ kind, at, access string }{
		{"proc", "/proc", "rw"}, {"tmpfs", "/dev", "rw"}, {"devpts", "/dev/pts", "rw"}, {"mqueue", "/dev/mqueue", "rw"},
		{"sysfs", "/sys", "ro"}, {"cgroup", "/sys/fs/cgroup", "ro"},
	} {
		mounts = append(mounts, map[string]any{
			"type": m.kind, "source": m.kind, "destination": m.at, "options": []string{"nosuid", "noexec", m.access},
		})
	}
	namespaces := []any{}
	for _, kind := range []string{"pid", "network", "ipc", "uts", "mount"} {
		namespaces = append(namespaces, map[string]any{"type": kind})
	}
	const memory, processes, shares = 256 << 20, 100, 100
	return map[string]any{
		"ociVersion": "1.0.2",
		"root":       map[string]any{"path": trialRoot()},
		"hostname":   "trial",
		"process": map[string]any{
			"args": []string{"/" + trialProgram, trialContained}, "cwd": "/", "noNewPrivileges": true,
			"user": map[string]any{"uid": 1000, "gid": 1000},
		},
		"mounts": mounts,
		"linux": map[string]any{
			"namespaces":  namespaces,
			"cgroupsPath": "/" + cgroup + "/trial",
			"seccomp":     map[string]any{"defaultAction": "SCMP_ACT_ALLOW"},
			"resources": map[string]any{
				"memory":  map[string]any{"limit": memory},
				"pids":    map[string]any{"limit": processes},
				"cpu":     map[string]any{"shares": shares},
				"devices": []any{map[string]any{"allow": false, "access": "rwm"}},
			},
		},
	}
}

func tryCommand(input, name string, arguments ...string) error {
	cmd := exec.Command(name, arguments...)
	cmd.Stdin = strings.NewReader(input)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.Join(strings.Fields(string(output)), " "))
	}
	return nil
}
