// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketDir(t *testing.T) {
	temp := temporaryFiles(t)
	shallow := &dataDir{root: filepath.Join(temp, "data")}
	writeTestFile(t, shallow.path("run", "etcd.sock"), "left by a crash")
	deep := &dataDir{root: filepath.Join(temp, strings.Repeat("x", maxSocketPath))}
	makeTestDir(t, deep.root)

	tests := map[string]struct {
		dir    *dataDir
		inside bool
	}{
		"in the data directory": {shallow, true},
		"elsewhere if too deep": {deep, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path, err := makeSocketDir(test.dir)
			if err != nil {
				t.Fatal(err)
			}
			if inside := strings.HasPrefix(path, test.dir.root); inside != test.inside {
				t.Errorf("it is at %s", path)
			}
			if socket := filepath.Join(path, "etcd.sock"); len(socket) > maxSocketPath {
				t.Errorf("%s has %d characters", socket, len(socket))
			}
			if left := entries(t, path); len(left) > 0 {
				t.Errorf("it has %v", left)
			}
			checkPrivate(t, path)
			if err := os.RemoveAll(path); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOnlyTheFirstReasonOfDeathCounts(t *testing.T) {
	s := &etcdServer{died: make(chan error, 1)}
	s.noteDeath("first")
	s.noteDeath("second")
	if err := <-s.died; err.Error() != "first" {
		t.Errorf("got %v", err)
	}
	select {
	case err := <-s.died:
		t.Errorf("there is more: %v", err)
	default:
	}
}
