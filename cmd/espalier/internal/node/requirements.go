// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Programs are the two programs of this project. "make node" builds them.
type Programs struct {
	Node  string // cmd/espalier/node
	Pause string // cmd/espalier/pause, which must not need any library
}

// ProgramsBeside returns the programs in the directory of an executable.
func ProgramsBeside(executable string) Programs {
	if target, err := filepath.EvalSymlinks(executable); err == nil {
		executable = target
	}
	directory := filepath.Dir(executable)
	return Programs{Node: filepath.Join(directory, "espalier-node"), Pause: filepath.Join(directory, "espalier-pause")}
}

// ErrUnfit is the error of a machine on which no node can run.
var ErrUnfit = errors.New("this machine cannot run a node")

// PackagesError is the error of a machine that lacks only Debian packages, as far as can be determined without them.
type PackagesError struct{ Names []string }

func (e *PackagesError) Error() string {
	return fmt.Sprintf("%v: %s", ErrUnfit, howToInstall(e.Names))
}

// Unwrap makes it an ErrUnfit.
func (e *PackagesError) Unwrap() error { return ErrUnfit }

func howToInstall(names []string) string {
	return fmt.Sprintf("Debian packages are missing: run \"apt-get install --no-install-recommends %s\"", strings.Join(names, " "))
}

// packages maps Debian packages to the commands that they provide.
var packages = []struct{ name, command string }{
	{"containerd", "containerd"}, {"containerd", "containerd-shim-runc-v2"}, {"containerd", "ctr"},
	{"runc", "runc"},
	{"nftables", "nft"},
	{"iproute2", "ip"},
	{"util-linux", "nsenter"},
	{"mount", "mount"},
}

const pluginPackage = "containernetworking-plugins"

var (
	plugins = []string{"bridge", "host-local", "loopback", "portmap"}
	// pluginFolders are the folders for network plugins: that of Debian, and the usual one.
	pluginFolders = []string{"/usr/lib/cni", "/opt/cni/bin"}
)

// Check reports everything that is missing on this machine, and how to get it.
func Check(programs Programs) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("%w: a node needs Linux, and this is %s", ErrUnfit, runtime.GOOS)
	}
	var problems []string
	if os.Geteuid() != 0 {
		problems = append(problems, "it needs root: run the command with sudo")
	}
	missing := missingPackages()
	if len(missing) > 0 {
		problems = append(problems, howToInstall(missing))
	}
	for _, path := range []string{programs.Node, programs.Pause} {
		if _, err := os.Stat(path); err != nil {
			problems = append(problems, fmt.Sprintf("%s is missing: \"make node\" builds it", path))
		}
	}
	if len(hierarchies()) == 0 {
		problems = append(problems, "there are no cgroups in "+cgroupMount+": mount them")
	}
	if len(missing) > 0 && len(problems) == 1 {
		return &PackagesError{Names: missing}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %s", ErrUnfit, strings.Join(problems, "; "))
	}
	return nil
}

func missingPackages() []string {
	var missing []string
	for _, p := range packages {
		if _, err := exec.LookPath(p.command); err != nil && !slices.Contains(missing, p.name) {
			missing = append(missing, p.name)
		}
	}
	if _, err := pluginFolder(); err != nil {
		missing = append(missing, pluginPackage)
	}
	return missing
}

// pluginFolder returns the folder that contains all required network plugins.
func pluginFolder() (string, error) {
	for _, folder := range pluginFolders {
		lacks := func(plugin string) bool {
			_, err := os.Stat(filepath.Join(folder, plugin))
			return err != nil
		}
		if !slices.ContainsFunc(plugins, lacks) {
			return folder, nil
		}
	}
	return "", fmt.Errorf("neither of %s holds the network plugins %s", strings.Join(pluginFolders, " and "), strings.Join(plugins, ", "))
}
