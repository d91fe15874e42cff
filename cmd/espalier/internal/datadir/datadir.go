// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package datadir determines the default data directory of a user's control plane.
package datadir

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Default returns the folder "espalier" in the user's data directory: XDG_DATA_HOME if it is set, else the usual directory of the system.
func Default() (string, error) {
	base, err := base()
	if err != nil {
		return "", fmt.Errorf("find a place for the data (set --data-dir): %w", err)
	}
	return filepath.Join(base, "espalier"), nil
}

func base() (string, error) {
	// The specification of XDG_DATA_HOME requires that relative paths are ignored.
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if runtime.GOOS == "windows" {
		return os.UserCacheDir() // the local application data
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share"), err
}
