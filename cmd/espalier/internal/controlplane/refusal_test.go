// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"espalier.dev/internal/testkit/share"
)

func TestStartRefuses(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign")
	writeTestFile(t, filepath.Join(foreign, "precious.txt"), "mine")
	newerLayout := filepath.Join(t.TempDir(), "layout")
	writeTestFile(t, filepath.Join(newerLayout, stateFile), fmt.Sprintf(`{"layout": %d, "kubernetes": "v1.37.1"}`, layoutVersion+1))
	newerKubernetes := filepath.Join(t.TempDir(), "kubernetes")
	writeTestFile(t, filepath.Join(newerKubernetes, stateFile), `{"layout": 1, "kubernetes": "v1.38.0"}`)
	damaged := filepath.Join(t.TempDir(), "damaged")
	writeTestFile(t, filepath.Join(damaged, stateFile), `{`)
	damagedKeys := filepath.Join(t.TempDir(), "keys")
	writeTestFile(t, filepath.Join(damagedKeys, stateFile), `{"layout": 1, "kubernetes": "v1.37.1", "port": 1}`)
	writeTestFile(t, filepath.Join(damagedKeys, "pki", "ca.crt"), "?")
	writeTestFile(t, filepath.Join(damagedKeys, "pki", "ca.key"), "?")
	file := filepath.Join(t.TempDir(), "file")
	writeTestFile(t, file, "mine")
	brokenKubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeTestFile(t, brokenKubeconfig, "clusters: 7")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenPort := taken.Addr().(*net.TCPAddr).Port

	tests := map[string]struct {
		opts Options
		want []string
	}{
		"a port that is taken":            {Options{Port: takenPort}, []string{fmt.Sprintf("port %d", takenPort), "in use", "choose another"}},
		"a port that cannot be":           {Options{Port: 70000}, []string{"70000"}},
		"somebody else's directory":       {Options{DataDir: foreign}, []string{foreign, "precious.txt", "choose an empty or a new directory"}},
		"a directory of a newer layout":   {Options{DataDir: newerLayout}, []string{newerLayout, "newer espalier", "layout 2"}},
		"a directory of newer Kubernetes": {Options{DataDir: newerKubernetes}, []string{newerKubernetes, "newer espalier", "v1.38.0"}},
		"a damaged directory":             {Options{DataDir: damaged}, []string{damaged, "damaged"}},
		"damaged keys":                    {Options{DataDir: damagedKeys}, []string{"ca.crt", "damaged", "remove both"}},
		"a file as directory":             {Options{DataDir: file}, []string{file, "not a directory"}},
		"a directory below a file":        {Options{DataDir: filepath.Join(file, "below")}, []string{file, "not a directory"}},
		"a directory that cannot be made": {Options{DataDir: "/proc/espalier"}, []string{"/proc/espalier"}},
		"a broken kubeconfig":             {Options{Kubeconfig: brokenKubeconfig}, []string{brokenKubeconfig, "stays unchanged"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			temp := temporaryFiles(t)
			_, err := Start(t.Context(), test.opts)
			if err == nil {
				t.Fatal("it started")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q: %v", want, err)
				}
			}
			if left := entries(t, temp); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
			if test.opts.DataDir != "" {
				checkUnlocked(t, test.opts.DataDir)
			}
		})
	}
	if left := entries(t, foreign); len(left) != 1 {
		t.Errorf("the foreign directory has changed: %v", left)
	}
	if raw, err := os.ReadFile(brokenKubeconfig); err != nil || string(raw) != "clusters: 7" {
		t.Errorf("the broken kubeconfig has changed: %q, %v", raw, err)
	}
}

func TestStartRefusesADirectoryInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cp := start(t, Options{DataDir: dir})
	_, err := Start(t.Context(), Options{DataDir: dir})
	if err == nil {
		t.Fatal("two control planes share a data directory")
	}
	for _, want := range []string{dir, fmt.Sprintf("process %d", os.Getpid()), fmt.Sprintf("kill %d", os.Getpid())} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q: %v", want, err)
		}
	}
	if _, err := clientFor(t, cp.RESTConfig()).Discovery().ServerVersion(); err != nil {
		t.Errorf("the first one suffers from the second: %v", err)
	}
}

// Goroutines of a control plane whose start was cancelled may give up while another one starts, and klog does not say to which they belong.
func TestAFatalErrorOfSomebodyElseDoesNotEndAStart(t *testing.T) {
	ended := make(chan struct{})
	cp := start(t, Options{Progress: func(step string) {
		if !strings.Contains(step, "ready") {
			return
		}
		go func() {
			defer close(ended)
			klog.Fatal("the end of somebody else")
		}()
		<-ended
	}})
	stop(t, cp)
}

func TestStartCanBeCancelledAtEveryStep(t *testing.T) {
	cases := share.Of()
	for _, step := range append([]string{"before"}, steps(t)...) {
		if !cases.Try() {
			continue
		}
		t.Run(step, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			temp := temporaryFiles(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if step == "before" {
				cancel()
			}
			cp, err := Start(ctx, Options{DataDir: dir, Progress: func(current string) {
				if current == step {
					cancel()
				}
			}})
			if err == nil {
				stop(t, cp)
				t.Fatal("it started")
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the error does not tell that the context was cancelled: %v", err)
			}
			if left := entries(t, temp); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
			checkUnlocked(t, dir)
			// Leftovers must not prevent the next start from succeeding.
			stop(t, start(t, Options{DataDir: dir}))
		})
	}
}

// steps lists what Start does, in order.
func steps(t *testing.T) []string {
	var seen []string
	cp := start(t, Options{Progress: func(step string) { seen = append(seen, step) }})
	stop(t, cp)
	if len(seen) == 0 {
		t.Fatal("Start reports no progress")
	}
	return seen
}

// checkUnlocked fails if a data directory is still held.
func checkUnlocked(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
		return // never locked
	}
	d := &dataDir{root: dir}
	if err := d.claim(); err != nil {
		if strings.Contains(err.Error(), "in use") {
			t.Errorf("the directory is still locked: %v", err)
		}
		return
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}

func writeTestFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// usedDir returns a data directory that was ready once, with a database of the given content.
func usedDir(t *testing.T, database string) (root, db string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "data")
	writeTestFile(t, filepath.Join(root, stateFile), `{"layout": 1, "kubernetes": "v1.37.1", "port": 1}`)
	db = filepath.Join(root, etcdFolder, "member", "snap", "db")
	writeTestFile(t, db, database)
	return root, db
}

func TestADamagedDatabaseEndsTheStart(t *testing.T) {
	dir, _ := usedDir(t, strings.Repeat("nonsense", 10_000))
	_, err := Start(t.Context(), Options{DataDir: dir})
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{"start etcd", "failed to open database", filepath.Join(dir, logFile)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q: %v", want, err)
		}
	}
	checkUnlocked(t, dir)
}

// locked are files whose locks are held until the process ends: with the lock, an abandoned etcd would continue, and write into a directory
// that is being removed.
var locked []*os.File

// A held lock on etcd's database keeps etcd waiting forever.
func TestAStartThatHangs(t *testing.T) {
	dir, db := usedDir(t, "")
	file, err := os.OpenFile(db, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	locked = append(locked, file)
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	t.Run("has a limit", func(t *testing.T) {
		_, err := Start(t.Context(), Options{DataDir: dir, StartLimit: time.Second})
		if err == nil {
			t.Fatal("it started")
		}
		for _, want := range []string{"starting etcd takes longer than 1s", "not ready in time", filepath.Join(dir, logFile), "move or delete the data directory"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the message lacks %q: %v", want, err)
			}
		}
		checkUnlocked(t, dir)
	})
	t.Run("can be cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := Start(ctx, Options{DataDir: dir, Progress: func(string) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error: %v", err)
		}
		checkUnlocked(t, dir)
	})
}
