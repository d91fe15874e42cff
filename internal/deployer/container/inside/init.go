// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Environment returns the value of a variable, empty if it is not set.
type Environment func(name string) string

// Init lays out the directories of the image: imports, target, component descriptor and content as packed by the deployer, and the state
// of the last run. It needs only files.
func Init(env Environment) error {
	shared, err := os.OpenRoot(env(EnvShared))
	if err != nil {
		return fmt.Errorf("open the directory %s: %w", env(EnvShared), err)
	}
	defer func() { _ = shared.Close() }() // It is no longer written to.
	for _, folder := range []string{
		path.Dir(ImportsFile), path.Dir(ExportsFile), path.Dir(TargetFile), ContentFolder, StateFolder,
	} {
		if err := shared.MkdirAll(folder, dirMode); err != nil {
			return err
		}
	}
	bundle, err := readPieces(filepath.Join(env(EnvInput), BundleFolder))
	if err != nil {
		return err
	}
	if bundle == nil {
		return fmt.Errorf("there is no input in %s", env(EnvInput))
	}
	if err := Unpack(bytes.NewReader(bundle), shared, false); err != nil {
		return fmt.Errorf("unpack the input: %w", err)
	}
	return restore(env, shared)
}

func restore(env Environment, shared *os.Root) error {
	state, err := readPieces(filepath.Join(env(EnvInput), StateFolderIn))
	if err != nil || state == nil {
		return err
	}
	want := env(EnvStateSum)
	if got := Sum(state); want != "" && got != want {
		return fmt.Errorf("the state of the last run is damaged: its checksum is %s, not %s", got, want)
	}
	folder, err := shared.OpenRoot(StateFolder)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // It is no longer written to.
	if err := Unpack(bytes.NewReader(state), folder, want == ""); err != nil {
		return fmt.Errorf("unpack the state of the last run: %w", err)
	}
	return nil
}

// readPieces joins the pieces of an archive; nil if there is none. In a volume, Kubernetes stores files behind links, and adds files
// whose names start with two dots.
func readPieces(folder string) ([]byte, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.Name()[0] != '.' {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	var all []byte
	for _, name := range names {
		piece, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		all = append(all, piece...)
	}
	return all, nil
}
