// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build node

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"espalier.dev/cmd/espalier/internal/node"
	"espalier.dev/cmd/espalier/internal/nodetest"
)

// containerImage contains espalier-container and the program that the deploy items run.
const containerImage = "espalier.local/container:1"

// containerArchive builds the image containerImage.
func containerArchive(t *testing.T) string {
	t.Helper()
	programs := map[string][]byte{}
	for name, source := range map[string]string{
		"espalier-container": "espalier.dev/cmd/espalier-container", "bin/setup": "espalier.dev/cmd/espalier/internal/nodetest/setup",
	} {
		programs[name] = nodetest.Program(t, ".", source, "")
	}
	packed, err := node.Image{Name: containerImage, Programs: programs, Entrypoint: []string{"/bin/setup"}, User: "0"}.Archive()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "container.tar")
	if err := os.WriteFile(file, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func containerConfig(imports string) string {
	return `{apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, image: "` + containerImage +
		`", importValues: ` + imports + `, blueprint: {inline: {filesystem: {blueprint.yaml: "kind: Blueprint"}}}}`
}

// exportsOf reads the exports of the only deploy item of an execution's installation.
func (u user) exportsOf(t *testing.T, execution string) map[string]any {
	t.Helper()
	item := u.mustRun(t, "kubectl", "get", "deployitems", "-n", "shop", "-l", "execution.landscaper.gardener.cloud/managed-by="+execution,
		"-o", "jsonpath={.items[0].status.exportRef.name}")
	encoded := u.mustRun(t, "kubectl", "get", "secret", "-n", "shop", strings.TrimSpace(item), "-o", "jsonpath={.data.config}")
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		t.Fatal(err)
	}
	var exports map[string]any
	if err := json.Unmarshal(text, &exports); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return exports
}

// Images of deploy items run and end on a real node, and leave nothing behind.
func TestContainersOnANode(t *testing.T) {
	u := newUser(t)
	t.Setenv("ESPALIER_NODE_PROGRAMS", nodetest.Programs(t))
	before := nodetest.Traces(t)
	i := u.up(t, "--node", "--node-image", containerArchive(t), "--container-image", containerImage, "--ui-addr", "")
	t.Cleanup(func() { _ = i.cmd.Process.Kill() })

	t.Run("exports and state", func(t *testing.T) {
		u.install(t, "runs", "container", containerConfig("{OnDelete: 7}"))
		first := u.exportsOf(t, "runs")
		if first["runs"] != 1.0 || first["operation"] != "RECONCILE" || first["owner"] != "1000:2000" || first["token"] != false {
			t.Errorf("the image finds %v", first)
		}
		u.mustRun(t, "reconcile", "runs", "-n", "shop", "--wait", "--timeout", "10m")
		if second := u.exportsOf(t, "runs"); second["runs"] != 2.0 {
			t.Errorf("in its second run, the image finds %v", second)
		}
	})
	t.Run("a failure is told without imports", func(t *testing.T) {
		u.write(t, "fails", "container", containerConfig(`{Code: 42, Words: s3cretword}`))
		code, out, errOut := u.run(t, "reconcile", "fails", "-n", "shop", "--wait", "--timeout", "10m")
		said := out + errOut + u.mustRun(t, "kubectl", "get", "deployitems", "-n", "shop", "-o", "jsonpath={.items[*].status.lastError.message}")
		if code != 2 || !strings.Contains(said, "exit code 42") || !strings.Contains(said, "the setup gives up: <masked>") {
			t.Errorf("exit code %d: %s", code, said)
		}
	})
	t.Run("an interrupt ends the pod and keeps its state", func(t *testing.T) {
		u.write(t, "waits", "container", containerConfig("{Wait: true}"))
		u.mustRun(t, "reconcile", "waits", "-n", "shop")
		u.eventually(t, "running", func() bool { return strings.Contains(u.phases(t), "Running") })
		u.mustRun(t, "interrupt", "waits", "-n", "shop", "--wait")
		u.eventually(t, "ended", func() bool { return !strings.Contains(u.phases(t), "Running") })
		u.write(t, "waits", "container", containerConfig("{}"))
		u.mustRun(t, "reconcile", "waits", "-n", "shop", "--wait", "--timeout", "10m")
		if again := u.exportsOf(t, "waits"); again["runs"] != 2.0 {
			t.Errorf("after the interrupt, the image finds %v", again)
		}
	})
	t.Run("a deletion runs the image", func(t *testing.T) {
		code, out, errOut := u.run(t, "delete", "runs", "-n", "shop", "--wait", "--timeout", "10m")
		said := out + errOut + u.mustRun(t, "kubectl", "get", "deployitems", "-n", "shop", "-o", "jsonpath={.items[*].status.lastError.message}")
		if code != 2 || !strings.Contains(said, "exit code 7") {
			t.Errorf("exit code %d: %s", code, said)
		}
		u.mustRun(t, "delete", "waits", "-n", "shop", "--wait", "--timeout", "10m")
	})
	t.Run("the deployer keeps the contract of deployers", func(t *testing.T) { u.checkConformance(t) })
	i.stop(t, syscall.SIGTERM)
	nodetest.NothingLeft(t, before)
}

// checkConformance tries all rules for deployers, in a namespace that is empty afterwards.
func (u user) checkConformance(t *testing.T) {
	t.Helper()
	u.mustRun(t, "kubectl", "create", "namespace", "contract")
	args := []string{
		"deployer", "conformance", "-n", "contract", "--type=landscaper.gardener.cloud/container", "--export=runs", "--timeout=10m", "-o", "json",
	}
	for flag, imports := range map[string]string{"config": "{}", "stuck": "{Wait: true}", "broken": "{Code: 42}"} {
		file := filepath.Join(t.TempDir(), flag+".yaml")
		if err := os.WriteFile(file, []byte(containerConfig(imports)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--"+flag, file)
	}
	code, out, errOut := u.run(t, args...)
	var report struct {
		Rules []struct{ Name, Outcome, Message string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || len(report.Rules) < 11 {
		t.Errorf("exit code %d, %d rules: %v\n%s%s", code, len(report.Rules), err, out, errOut)
	}
	for _, rule := range report.Rules {
		if rule.Outcome != "Kept" {
			t.Errorf("%s: %s: %s", rule.Name, rule.Outcome, rule.Message)
		}
	}
	if strings.Contains(errOut, "left behind") {
		t.Error(errOut)
	}
	if items := u.mustRun(t, "kubectl", "get", "deployitems", "-n", "contract", "-o", "name"); items != "" {
		t.Errorf("there still are %s", items)
	}
	u.eventually(t, "gone", func() bool {
		return u.mustRun(t, "kubectl", "get", "pods,secrets,serviceaccounts,roles,rolebindings", "-n", "contract",
			"-l", "espalier.dev/deployer=container", "-o", "name") == ""
	})
}

// phases returns the phases of all pods of container deploy items.
func (u user) phases(t *testing.T) string {
	t.Helper()
	return u.mustRun(t, "kubectl", "get", "pods", "-n", "shop", "-l", "espalier.dev/deployer=container",
		"-o", "jsonpath={.items[*].status.phase}")
}

func (u user) eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	const every, limit = 200 * time.Millisecond, 10 * time.Minute
	err := wait.PollUntilContextTimeout(t.Context(), every, limit, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("%s: not in time; the pods are %s", what, u.phases(t))
	}
}
