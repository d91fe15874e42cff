// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// owner identifies a process among all that have run since the machine booted.
type owner struct {
	process int
	began   string // in ticks of the kernel since boot
}

func thisProcess() (owner, error) {
	began, err := beginOf(os.Getpid())
	if err != nil {
		return owner{}, err
	}
	return owner{process: os.Getpid(), began: began}, nil
}

func (o owner) String() string { return fmt.Sprintf("%d-%s", o.process, o.began) }

// parseOwner parses what String returns.
func parseOwner(text string) (owner, bool) {
	id, began, found := strings.Cut(text, "-")
	process, err := strconv.Atoi(id)
	return owner{process: process, began: began}, found && err == nil && began != ""
}

// isRunning reports whether the process is still running.
func (o owner) isRunning() bool {
	began, err := beginOf(o.process)
	return err == nil && began == o.began
}

// beginOf reads field 22 of /proc/ID/stat. The preceding name of the program may contain any characters.
func beginOf(process int) (string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return "", fmt.Errorf("find when process %d began: %w", process, err)
	}
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	const index = 22 - 3
	if len(fields) <= index || fields[0] == "Z" {
		return "", fmt.Errorf("find when process %d began: it has ended", process)
	}
	return fields[index], nil
}
