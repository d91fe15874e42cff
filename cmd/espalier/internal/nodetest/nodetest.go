// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package nodetest provides what tests need to run pods: the programs of a node, and an image with a program that tests control.
package nodetest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"espalier.dev/cmd/espalier/internal/controlplane"
	"espalier.dev/cmd/espalier/internal/node"
)

// WorkloadImage is the name of the image that WorkloadArchive builds. Its entry point is the program in the folder "workload".
const WorkloadImage = "espalier.local/workload:1"

// Programs returns a directory with the programs of the node, under the names that "espalier up" expects. It builds them first if
// necessary.
func Programs(t testing.TB) (directory string) {
	t.Helper()
	directory = t.TempDir()
	for _, name := range []string{"node", "pause"} {
		build := exec.CommandContext(t.Context(), "go", "run", "espalier.dev/internal/testkit/prebuild", name)
		build.Stderr = os.Stderr
		path, err := build.Output()
		if err != nil {
			t.Fatalf("build %s: %v", name, err)
		}
		if err := os.Symlink(strings.TrimSpace(string(path)), filepath.Join(directory, "espalier-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// Start starts a cluster with a node, which has the workload image and ends with the test.
func Start(t testing.TB) *node.Cluster {
	t.Helper()
	programs := node.ProgramsBeside(filepath.Join(Programs(t), "espalier"))
	cluster, err := node.StartCluster(t.Context(), controlplane.Options{Progress: func(step string) { t.Log(step) }}, programs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	Import(t, cluster.Node)
	return cluster
}

// Import imports the workload image into a node.
func Import(t testing.TB, n *node.Node) {
	t.Helper()
	if err := n.ImportImage(t.Context(), bytes.NewReader(WorkloadArchive(t))); err != nil {
		t.Fatal(err)
	}
}

// WorkloadArchive builds the workload image.
func WorkloadArchive(t testing.TB) []byte {
	t.Helper()
	content := Program(t, ".", "espalier.dev/cmd/espalier/internal/nodetest/workload", "")
	image := node.Image{
		Name: WorkloadImage, Programs: map[string][]byte{"bin/workload": content}, Entrypoint: []string{"/bin/workload"}, User: "65532",
	}
	archive, err := image.Archive()
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// Program builds a program for containers, with the go command in a directory. The linker gets the given flags in addition to those that
// omit debug information. Packages are compiled as usual, so that they come from the cache that tests have filled.
func Program(t testing.TB, directory, source, link string) []byte {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	link = strings.TrimSpace("-s -w " + link)
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", link, "-o", binary, source)
	build.Dir = directory
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", source, err, output)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
