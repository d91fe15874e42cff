// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/apimachinery/pkg/util/version"

	"espalier.dev/cmd/espalier/internal/kubeversion"
)

const (
	// layoutVersion changes when older versions of espalier cannot use the directory any more.
	layoutVersion = 1

	stateFile = "espalier.json"
	lockFile  = "lock"
	spaceFile = "space-check"

	kubeconfigFile = "kubeconfig"
	etcdFolder     = "etcd"
	keyFolder      = "pki"

	// spaceNeeded is the space that etcd allocates when it starts, with some reserve.
	spaceNeeded = 64 << 20
)

// dataDir is a directory that this process has locked.
type dataDir struct {
	root      string
	ephemeral bool
	state     dirState
	lock      *fileutil.LockedFile
}

// dirState marks a directory as ours and records facts for the next start.
type dirState struct {
	Layout     int    `json:"layout"`
	Kubernetes string `json:"kubernetes"`
	Port       int    `json:"port,omitempty"`
}

// wasReady reports whether a control plane in the directory was ever ready: the port is recorded only then.
func (s dirState) wasReady() bool { return s.Port != 0 }

// openDataDir claims the directory, and creates it if necessary. The empty string means an ephemeral one.
func openDataDir(root string) (*dataDir, error) {
	if root == "" {
		return openEphemeralDir()
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("locate data directory: %w", err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	d := &dataDir{root: root}
	if err := d.claim(); err != nil {
		return nil, err
	}
	return d, nil
}

func openEphemeralDir() (*dataDir, error) {
	root, err := os.MkdirTemp("", "espalier-")
	if err != nil {
		return nil, fmt.Errorf("create temporary data directory: %w", err)
	}
	d := &dataDir{root: root, ephemeral: true}
	if err := d.claim(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	return d, nil
}

// claim checks before it locks, because locking writes into a directory that may belong to another program.
func (d *dataDir) claim() error {
	if _, err := d.readState(); err != nil {
		return err
	}
	lock, err := fileutil.TryLockFile(d.path(lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return d.inUse()
	}
	if err != nil {
		return fmt.Errorf("lock data directory: %w", err)
	}
	d.lock = lock
	if err := d.settle(); err != nil {
		return errors.Join(err, lock.Close())
	}
	return nil
}

// settle marks the locked directory as ours.
func (d *dataDir) settle() (err error) {
	if d.state, err = d.readState(); err != nil {
		return err
	}
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	if _, err := d.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("write lock file: %w", err)
	}
	if err := d.clear(); err != nil {
		return err
	}
	if err := d.reserveSpace(); err != nil {
		return err
	}
	return d.remember(d.state.Port)
}

// clear removes the leftovers of a killed process: half-written files, and everything in a directory whose control plane was never ready.
// An unfinished database or certificate makes every later start fail, and such a directory contains no user data.
func (d *dataDir) clear() error {
	var leftovers []string
	entries, err := os.ReadDir(d.root)
	if err != nil {
		return fmt.Errorf("read data directory: %w", err)
	}
	for _, entry := range entries {
		if isTemporary(entry.Name()) {
			leftovers = append(leftovers, entry.Name())
		}
	}
	if !d.state.wasReady() {
		leftovers = append(leftovers, etcdFolder, keyFolder)
	}
	for _, name := range leftovers {
		if err := os.RemoveAll(d.path(name)); err != nil {
			return fmt.Errorf("clear data directory: %w", err)
		}
	}
	return nil
}

// isTemporary reports whether a file is left over from an interrupted writeFile or reserveSpace.
func isTemporary(name string) bool {
	return name == spaceFile || strings.HasPrefix(name, temporaryPrefix(stateFile)) ||
		strings.HasPrefix(name, temporaryPrefix(kubeconfigFile))
}

func temporaryPrefix(name string) string { return "." + name + "-" }

// readState rejects directories with foreign files, or that a newer espalier has written. A new directory has the zero state.
func (d *dataDir) readState() (dirState, error) {
	raw, err := os.ReadFile(d.path(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return dirState{}, d.checkUnused()
	}
	if err != nil {
		return dirState{}, fmt.Errorf("read data directory: %w", err)
	}
	var state dirState
	if err := json.Unmarshal(raw, &state); err != nil {
		return dirState{}, fmt.Errorf("data directory %s: %s is damaged (%w); restore it or use another directory", d.root, stateFile, err)
	}
	if state.Layout > layoutVersion || isNewer(state.Kubernetes) {
		return dirState{}, fmt.Errorf(
			"data directory %s was written by a newer espalier (layout %d, Kubernetes %s; this one has layout %d, Kubernetes %s): use that version, or another directory",
			d.root,
			state.Layout,
			state.Kubernetes,
			layoutVersion,
			kubeversion.Version,
		)
	}
	return state, nil
}

func (d *dataDir) checkUnused() error {
	entries, err := os.ReadDir(d.root)
	if err != nil {
		return fmt.Errorf("read data directory: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != lockFile && !isTemporary(entry.Name()) {
			return fmt.Errorf(
				"%s is not empty and not an espalier data directory (it has %q but no %s): choose an empty or a new directory",
				d.root,
				entry.Name(),
				stateFile,
			)
		}
	}
	return nil
}

// isNewer reports whether this version may be unable to read data of the given Kubernetes version.
func isNewer(kubernetes string) bool {
	theirs, err := version.ParseSemantic(kubernetes)
	if err != nil {
		return false
	}
	ours := version.MustParseSemantic(kubeversion.Version)
	return theirs.Major() > ours.Major() || theirs.Major() == ours.Major() && theirs.Minor() > ours.Minor()
}

func (d *dataDir) inUse() error {
	raw, err := os.ReadFile(d.path(lockFile))
	pid := strings.TrimSpace(string(raw))
	if err != nil || pid == "" {
		return fmt.Errorf("data directory %s is in use by another process: stop that one first, or use another directory", d.root)
	}
	return fmt.Errorf(
		"data directory %s is in use by process %s: stop that one first (Ctrl-C in its terminal, or: kill %s), or use another directory",
		d.root,
		pid,
		pid,
	)
}

// reserveSpace returns an error if the disk is full, before etcd crashes because of it.
func (d *dataDir) reserveSpace() error {
	name := d.path(spaceFile)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write to data directory: %w", err)
	}
	allocErr := fileutil.Preallocate(f, spaceNeeded, true)
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
		return fmt.Errorf("write to data directory: %w", err)
	}
	if allocErr != nil {
		return fmt.Errorf(
			"data directory %s has no room for %d MiB (%w): free some space, or use a directory on another disk",
			d.root,
			spaceNeeded>>20,
			allocErr,
		)
	}
	return nil
}

// remember records the port for the next start, and the version of this one.
func (d *dataDir) remember(port int) error {
	d.state = dirState{Layout: layoutVersion, Kubernetes: kubeversion.Version, Port: port}
	raw, err := json.Marshal(d.state)
	if err != nil {
		return fmt.Errorf("encode %s: %w", stateFile, err)
	}
	return writeFile(d.path(stateFile), append(raw, '\n'))
}

func (d *dataDir) path(elem ...string) string {
	return filepath.Join(append([]string{d.root}, elem...)...)
}

// close removes the files of an ephemeral directory before it releases the lock, so that no other process can claim a directory that is
// about to vanish.
func (d *dataDir) close() error {
	var err error
	if d.ephemeral {
		err = os.RemoveAll(d.root)
	}
	if err := errors.Join(err, d.lock.Close()); err != nil {
		return fmt.Errorf("close data directory: %w", err)
	}
	return nil
}

// writeFile replaces a file atomically. Only the owner may read it.
func writeFile(name string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), temporaryPrefix(filepath.Base(name))+"*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, writeErr := f.Write(content)
	if err := errors.Join(writeErr, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
