// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package gitops runs the Gitea of the example gitops, with a user and a repository, beside the control plane. Its data is
// below the data directory of "espalier up" and is kept with it.
package gitops

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Variable is the environment variable that names the program, unless a flag does.
const Variable = "ESPALIER_GITEA"

// programName is the name of Gitea on the PATH, and beside espalier, where "make gitea" puts it.
const programName = "gitea"

// errNotFound explains how to get Gitea.
var errNotFound = errors.New("no Gitea found: put gitea on the PATH, name it with --gitea PATH or " + Variable +
	", or run \"make gitea\" in the source tree of Espalier")

// Find returns the Gitea to start: the given one, or the one that the environment names, or the one on the PATH, or the one beside
// espalier.
func Find(named string) (string, error) {
	if runtime.GOOS == "windows" {
		return "", errors.New("the example gitops does not run on Windows: use WSL")
	}
	path, err := find(named)
	if err != nil {
		return "", err
	}
	if _, err := exec.LookPath("git"); err != nil {
		return "", errors.New("git not found on the PATH: install git, which Gitea needs")
	}
	return path, nil
}

func find(named string) (string, error) {
	title, path := "--gitea", named
	if path == "" {
		title, path = Variable, os.Getenv(Variable)
	}
	if path != "" {
		found, err := executable(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", title, err)
		}
		return found, nil
	}
	if found, err := exec.LookPath(programName); err == nil {
		return filepath.Abs(found)
	}
	self, err := os.Executable()
	if err != nil {
		return "", errNotFound
	}
	found, err := executable(filepath.Join(filepath.Dir(self), programName))
	if err != nil {
		return "", errNotFound
	}
	return found, nil
}

// executable returns the absolute path of an executable program.
func executable(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", fmt.Errorf("%s is a directory: name the program in it", path)
	}
	if info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s is not executable: name the program gitea, or make it executable with chmod +x", path)
	}
	return path, nil
}

// staticFolder, beside the program, contains the files that a Gitea built only from its Go module reads.
const staticFolder = "gitea-static"

// staticFiles looks beside the path as given, then beside the file that it links to.
func staticFiles(binary string) string {
	places := []string{binary}
	if target, err := filepath.EvalSymlinks(binary); err == nil {
		places = append(places, target)
	}
	for _, place := range places {
		folder := filepath.Join(filepath.Dir(place), staticFolder)
		if _, err := os.Stat(filepath.Join(folder, "templates")); err == nil {
			return folder
		}
	}
	return ""
}
