// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"espalier.dev/cmd/espalier/internal/kubeversion"
)

func openTestDir(t *testing.T, root string) *dataDir {
	t.Helper()
	d, err := openDataDir(root)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func closeTestDir(t *testing.T, d *dataDir) {
	t.Helper()
	if err := d.close(); err != nil {
		t.Error(err)
	}
}

func TestDataDirCanBe(t *testing.T) {
	tests := map[string]func(t *testing.T, root string){
		"absent":          func(*testing.T, string) {},
		"empty":           func(t *testing.T, root string) { makeTestDir(t, root) },
		"left by a crash": func(t *testing.T, root string) { writeTestFile(t, filepath.Join(root, lockFile), "1\n") },
		"left while it was checked for space": func(t *testing.T, root string) {
			writeTestFile(t, filepath.Join(root, lockFile), "1\n")
			writeTestFile(t, filepath.Join(root, spaceFile), "")
		},
		"left while the state was written": func(t *testing.T, root string) {
			writeTestFile(t, filepath.Join(root, lockFile), "1\n")
			writeTestFile(t, filepath.Join(root, "."+stateFile+"-1234"), "{")
		},
		"left before it was ever ready": func(t *testing.T, root string) {
			writeState(t, root, `{"layout": 1, "kubernetes": "v1.36.9"}`)
			writeTestFile(t, filepath.Join(root, "etcd", "member", "snap", "db"), "half a database")
			writeTestFile(t, filepath.Join(root, "pki", "ca.crt"), "half a certificate")
		},
		"used before":          func(t *testing.T, root string) { closeTestDir(t, openTestDir(t, root)) },
		"of an older version":  func(t *testing.T, root string) { writeState(t, root, `{"layout": 1, "kubernetes": "v1.36.9"}`) },
		"of a newer patch":     func(t *testing.T, root string) { writeState(t, root, `{"layout": 1, "kubernetes": "v1.37.99"}`) },
		"of an unknown server": func(t *testing.T, root string) { writeState(t, root, `{"layout": 1}`) },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "some", "data")
			prepare(t, root)
			d := openTestDir(t, root)
			want := &dataDir{root: root, state: dirState{Layout: layoutVersion, Kubernetes: kubeversion.Version}}
			if diff := cmp.Diff(want, d, cmp.AllowUnexported(dataDir{}), cmpopts.IgnoreFields(dataDir{}, "lock")); diff != "" {
				t.Errorf("the directory (-want +got):\n%s", diff)
			}
			closeTestDir(t, d)
			if got := entries(t, root); !slices.Equal(got, []string{stateFile, lockFile}) {
				t.Errorf("the directory has %v", got)
			}
			checkPrivate(t, filepath.Join(root, stateFile))
		})
	}
}

func TestADataDirThatWasReadyKeepsItsData(t *testing.T) {
	root := t.TempDir()
	writeState(t, root, `{"layout": 1, "kubernetes": "v1.36.9", "port": 4711}`)
	writeTestFile(t, filepath.Join(root, "etcd", "member", "snap", "db"), "precious")
	writeTestFile(t, filepath.Join(root, "pki", "ca.crt"), "precious")
	closeTestDir(t, openTestDir(t, root))
	if got := entries(t, root); !slices.Equal(got, []string{stateFile, "etcd", lockFile, "pki"}) {
		t.Errorf("the directory has %v", got)
	}
}

func makeTestDir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func writeState(t *testing.T, root, content string) {
	t.Helper()
	writeTestFile(t, filepath.Join(root, stateFile), content)
}

func TestDataDirRemembersThePort(t *testing.T) {
	root := t.TempDir()
	d := openTestDir(t, root)
	if err := d.remember(4711); err != nil {
		t.Fatal(err)
	}
	closeTestDir(t, d)
	again := openTestDir(t, root)
	defer closeTestDir(t, again)
	if again.state.Port != 4711 {
		t.Errorf("port is %d", again.state.Port)
	}
}

func TestDataDirHasOneOwnerAtATime(t *testing.T) {
	root := t.TempDir()
	d := openTestDir(t, root)
	if _, err := openDataDir(root); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("a second owner: %v", err)
	}
	if err := os.Truncate(filepath.Join(root, lockFile), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := openDataDir(root); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("a second owner that cannot read who the first is: %v", err)
	}
	closeTestDir(t, d)
	closeTestDir(t, openTestDir(t, root))
}

func TestEphemeralDirIsPrivateAndGoesAway(t *testing.T) {
	d := openTestDir(t, "")
	if !d.ephemeral {
		t.Error("it is not ephemeral")
	}
	checkPrivate(t, d.root)
	closeTestDir(t, d)
	if _, err := os.Stat(d.root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
}

func TestIsNewer(t *testing.T) {
	versions := map[string]bool{
		"v1.37.0": false, "v1.37.1": false, "v1.37.2": false, "v1.36.0": false, "v0.99.0": false, "": false, "nonsense": false,
		"v1.38.0": true, "v1.38.0-alpha.1": true, "v2.0.0": true,
	}
	for version, want := range versions {
		if got := isNewer(version); got != want {
			t.Errorf("%q: %t", version, got)
		}
	}
}

func TestWriteFileReplacesInOneStep(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(name)
	if err != nil || string(raw) != "new" {
		t.Errorf("the file has %q, %v", raw, err)
	}
	checkPrivate(t, name)

	folder := filepath.Join(dir, "folder")
	writeTestFile(t, filepath.Join(folder, "inside"), "")
	if err := writeFile(folder, []byte("new")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if got := entries(t, dir); !slices.Equal(got, []string{"file", "folder"}) {
		t.Errorf("temporary files are left: %v", got)
	}
	if err := writeFile(filepath.Join(dir, "absent", "file"), nil); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}
