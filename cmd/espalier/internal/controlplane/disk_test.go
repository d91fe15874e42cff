// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A limit on the size of files makes writes fail as on a full disk, without root and without filling a disk. It applies to the whole
// process, so these tests run in a child process.
const (
	childEnv  = "CONTROLPLANE_TEST_CHILD"
	childDir  = "CONTROLPLANE_TEST_DIR"
	fullStart = "full at the start"
	fullSoon  = "full while it starts"
	fullLater = "full later"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case fullStart:
		err = startOnFullDisk(os.Getenv(childDir))
	case fullSoon:
		err = fillDiskDuringStart(os.Getenv(childDir))
	case fullLater:
		err = fillDisk(os.Getenv(childDir))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func runChild(t *testing.T, mode, dir string) (output string, err error) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+mode, childDir+"="+dir)
	raw, err := child.CombinedOutput()
	return string(raw), err
}

func limitFileSize(bytes uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes})
}

func startOnFullDisk(dir string) error {
	if err := limitFileSize(1 << 20); err != nil {
		return err
	}
	cp, err := Start(context.Background(), Options{DataDir: dir})
	if err != nil {
		return err
	}
	return errors.Join(errors.New("it started"), cp.Stop(context.Background()))
}

func TestStartRefusesAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	output, err := runChild(t, fullStart, dir)
	if err == nil {
		t.Fatal("the child succeeded")
	}
	for _, want := range []string{dir, "no room for 64 MiB", "free some space"} {
		if !strings.Contains(output, want) {
			t.Errorf("the message lacks %q: %s", want, output)
		}
	}
	if lines := strings.Count(output, "\n"); lines != 1 {
		t.Errorf("the message has %d lines:\n%s", lines, output)
	}
}

// fillDiskDuringStart succeeds if the start fails and cleans up.
func fillDiskDuringStart(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var limitErr error
	cp, err := Start(ctx, Options{DataDir: dir, Progress: func(step string) {
		if strings.HasPrefix(step, "waiting") {
			limitErr = limitFileSize(1)
		}
	}})
	if limitErr != nil {
		return limitErr
	}
	if err == nil {
		return errors.Join(errors.New("it started"), cp.Stop(ctx))
	}
	fmt.Println(strings.ReplaceAll(err.Error(), "\n", "; "))
	return ctx.Err()
}

func TestFullDiskEndsAStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	output, err := runChild(t, fullSoon, dir)
	if err != nil {
		t.Fatalf("the child failed: %v\n%s", err, output)
	}
	for _, want := range []string{"run etcd", "file too large", filepath.Join(dir, logFile)} {
		if !strings.Contains(output, want) {
			t.Errorf("the message lacks %q: %s", want, output)
		}
	}
	if lines := strings.Count(output, "\n"); lines != 1 {
		t.Errorf("it is not quiet:\n%s", output)
	}
}

// fillDisk makes every write fail while the control plane runs. It succeeds if the control plane reports this and the process survives.
func fillDisk(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cp, err := Start(ctx, Options{DataDir: dir})
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		return err
	}
	if err := limitFileSize(1); err != nil {
		return err
	}
	thing := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "thing"}}
	go func() { _, _ = client.CoreV1().ConfigMaps("default").Create(ctx, thing, metav1.CreateOptions{}) }()
	select {
	case <-cp.Done():
		fmt.Println("ended:", cp.Err())
		return cp.Stop(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestFullDiskEndsARunningControlPlane(t *testing.T) {
	output, err := runChild(t, fullLater, filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatalf("the child failed: %v\n%s", err, output)
	}
	for _, want := range []string{"etcd exited unexpectedly", "file too large"} {
		if !strings.Contains(output, want) {
			t.Errorf("the message lacks %q: %s", want, output)
		}
	}
	if lines := strings.Count(output, "\n"); lines != 1 {
		t.Errorf("it is not quiet:\n%s", output)
	}
}
