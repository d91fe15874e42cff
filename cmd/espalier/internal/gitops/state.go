// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// stateFile is espalier's own file in the folder of Gitea.
const stateFile = "espalier.json"

// unfinishedFile is a state file that is being written.
const unfinishedFile = stateFile + ".unfinished"

// state contains facts for the next start. It is secret.
type state struct {
	Port          int    `json:"port"`
	SecretKey     string `json:"secretKey"`
	InternalToken string `json:"internalToken"`

	// Password and Token are set when everything that the example requires exists. Until then, the folder can be discarded.
	Password string `json:"password,omitempty"`
	Token    string `json:"token,omitempty"`
}

func (s state) isComplete() bool { return s.Token != "" }

func newState() state {
	return state{SecretKey: rand.Text() + rand.Text(), InternalToken: rand.Text() + rand.Text()}
}

// readState returns a new one if the folder is empty.
func readState(dir string) (state, error) {
	path := filepath.Join(dir, stateFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newState(), checkEmpty(dir)
	}
	if err != nil {
		return state{}, fmt.Errorf("read the state of Gitea: %w", err)
	}
	var s state
	if err := json.Unmarshal(content, &s); err != nil || s.Port == 0 || s.SecretKey == "" || s.InternalToken == "" {
		// The error may quote the content of the file.
		return state{}, fmt.Errorf("read the state of Gitea: %s is damaged: restore it, or remove %s to start with a new Gitea", path, dir)
	}
	return s, nil
}

// checkEmpty rejects foreign data: unlike the leftovers of an unfinished start, it has no state file.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read the state of Gitea: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != unfinishedFile {
			return fmt.Errorf("%s is not empty and has no %s: restore that file, or remove %s to start with a new Gitea", dir, stateFile, dir)
		}
	}
	return nil
}

// save replaces the file atomically, so that a crash leaves either the old or the new one.
func (s state) save(dir string) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("save the state of Gitea: %w", err)
	}
	path := filepath.Join(dir, stateFile)
	unfinished := filepath.Join(dir, unfinishedFile)
	if err := writeDurably(unfinished, content); err != nil {
		return fmt.Errorf("save the state of Gitea: %w", err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("save the state of Gitea: %w", err)
	}
	return nil
}

func writeDurably(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

// clearDir removes the leftovers of an unfinished start.
func clearDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("clear the directory of Gitea: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == stateFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("clear the directory of Gitea: %w", err)
		}
	}
	return nil
}
