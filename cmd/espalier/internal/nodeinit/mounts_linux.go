// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package nodeinit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// scratch are the directories into which containerd, the kubelet and the network plugins write by default. The node sees empty ones
// instead, in memory.
var scratch = []string{"/run", "/var/lib", "/var/log"}

// wholeMachine are settings that the kubelet writes and that are not namespaced. The node sees copies instead.
var wholeMachine = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// prepare creates the mounts of the node, none of which are visible on the machine.
func prepare(state, hostname string) error {
	// Opened now, because it may be in a directory that is about to be covered.
	found, err := unix.Open(state, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", state, err)
	}
	defer unix.Close(found)
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return fmt.Errorf("set the name of the node: %w", err)
	}
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC); err != nil {
		return err
	}
	if err := cover(); err != nil {
		return err
	}
	if err := os.MkdirAll(StateDir, 0o700); err != nil {
		return fmt.Errorf("create the mounts of the node: %w", err)
	}
	if err := mount(fmt.Sprintf("/proc/self/fd/%d", found), StateDir, "", unix.MS_BIND); err != nil {
		return err
	}
	for _, setting := range wholeMachine {
		if err := hide(setting); err != nil {
			return err
		}
	}
	return mount("", "/", "", unix.MS_REC|unix.MS_SHARED) // Volumes of pods may require propagation.
}

// cover mounts empty file systems over the directories.
func cover() error {
	for _, directory := range scratch {
		if err := mount("tmpfs", directory, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// hide mounts a copy over a setting of the kernel.
func hide(setting string) error {
	original := filepath.Join("/proc/sys", setting)
	content, err := os.ReadFile(original)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("hide %s: %w", original, err)
	}
	duplicate := filepath.Join("/run", "settings-"+strings.ReplaceAll(setting, "/", "-"))
	if err := os.WriteFile(duplicate, content, 0o600); err != nil {
		return fmt.Errorf("hide %s: %w", original, err)
	}
	return mount(duplicate, original, "", unix.MS_BIND)
}

func mount(source, target, kind string, flags uintptr) error {
	if err := unix.Mount(source, target, kind, flags, ""); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}
