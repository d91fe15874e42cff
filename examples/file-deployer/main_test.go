// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// runMain makes this test binary behave as the command itself.
const runMain = "FILE_DEPLOYER_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	testkit.Main(m)
}

func launch(t *testing.T, folder string) {
	t.Helper()
	cmd := exec.Command(
		os.Args[0],
		"--kubeconfig",
		testkit.Server(t).Kubeconfig(),
		"--root",
		folder,
	) // It outlives the test's context, up to the cleanup.
	cmd.Env = append(os.Environ(), runMain+"=1")
	var log bytes.Buffer
	cmd.Stderr = io.MultiWriter(os.Stderr, &log)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("it has ended by itself: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("it did not end well: %v", err)
		}
		if !strings.Contains(log.String(), `"Starting workers" controller="file-deployer"`) {
			t.Errorf("it logs nothing about its controller:\n%s", log.String())
		}
	})
}

// example returns the deploy item in the README.
func example(t *testing.T, namespace string) *lsv1alpha1.DeployItem {
	t.Helper()
	text, err := os.ReadFile("manifests/deployitem.yaml")
	if err != nil {
		t.Fatal(err)
	}
	item := &lsv1alpha1.DeployItem{}
	if err := yaml.UnmarshalStrict(text, item); err != nil {
		t.Fatal(err)
	}
	item.Namespace = namespace
	return item
}

func begin(t *testing.T, item *lsv1alpha1.DeployItem, job string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"jobID":"`+job+`"}}`))
	if err := testkit.Server(t).Client().Status().Patch(t.Context(), item, patch); err != nil {
		t.Fatal(err)
	}
}

func filesIn(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry.Name()+": "+strings.TrimSpace(string(content)))
	}
	return strings.Join(all, ", ")
}

func setFiles(t *testing.T, item *lsv1alpha1.DeployItem, files map[string]string) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": "Files", "files": files})
	if err != nil {
		t.Fatal(err)
	}
	item.Spec.Configuration.Raw = raw
	if err := testkit.Server(t).Client().Update(t.Context(), item); err != nil {
		t.Fatal(err)
	}
}

func TestTheExampleDeploysUpdatesAndDeletes(t *testing.T) {
	server := testkit.Server(t)
	folder := t.TempDir()
	launch(t, folder)
	item := example(t, server.Namespace(t))
	testkit.Create(t, server, item)
	begin(t, item, "first")
	item = testkit.EventuallyFinished(t, server, item, lsv1alpha1.PhaseSucceeded)
	if got := filesIn(t, folder); got != "greeting.txt: hello, name.txt: espalier" {
		t.Errorf("after the first job: %s", got)
	}
	secret := &corev1.Secret{}
	if err := server.Client().Get(t.Context(), client.ObjectKey{Namespace: item.Namespace, Name: item.Status.ExportReference.Name}, secret); err != nil {
		t.Fatal(err)
	}
	if got := string(secret.Data[lsv1alpha1.ExportSecretKey]); !strings.Contains(got, folder) {
		t.Errorf("it exports %s", got)
	}

	setFiles(t, item, map[string]string{"greeting.txt": "good morning"})
	begin(t, item, "second")
	item = testkit.EventuallyFinished(t, server, item, lsv1alpha1.PhaseSucceeded)
	if got := filesIn(t, folder); got != "greeting.txt: good morning" {
		t.Errorf("after the second job: %s", got)
	}

	if err := server.Client().Delete(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	begin(t, item, "third")
	testkit.EventuallyGone(t, server, item)
	if got := filesIn(t, folder); got != "" {
		t.Errorf("after the deletion: %s", got)
	}
}

func TestFilesOutsideTheFolderAreOutOfReach(t *testing.T) {
	server := testkit.Server(t)
	outer := t.TempDir()
	folder := filepath.Join(outer, "inner")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	launch(t, folder)
	item := example(t, server.Namespace(t))
	testkit.Create(t, server, item)
	setFiles(t, item, map[string]string{"../escaped": "x"})
	begin(t, item, "first")
	testkit.Eventually(t, server, item, testkit.Is("refused", func(i *lsv1alpha1.DeployItem) bool { return i.Status.LastError != nil }))
	if _, err := os.Stat(filepath.Join(outer, "escaped")); !os.IsNotExist(err) {
		t.Errorf("a file outside was written: %v", err)
	}
}
