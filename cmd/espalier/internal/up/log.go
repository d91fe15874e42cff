// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/manager"
)

// openLog returns the controllers' logger and the name of the file that it writes to, if any. The file of the previous run is kept beside
// it. It stays open until the process ends.
func openLog(opts options, dir string) (log logr.Logger, name string, err error) {
	if opts.verbose {
		log, err = manager.NewLogger(opts.streams.ErrOut, manager.LogOptions{Format: manager.LogConsole, Level: "info"})
		return log, "", err
	}
	name = filepath.Join(dir, cli.LogOfUp)
	if err := os.Rename(name, name+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return log, "", fmt.Errorf("rename the previous log: %w", err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return log, "", fmt.Errorf("open log: %w", err)
	}
	log, err = manager.NewLogger(file, manager.LogOptions{Format: manager.LogConsole, Level: "info"})
	return log, name, err
}
