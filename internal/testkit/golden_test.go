// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/internal/testkit"
)

func setUpdate(t *testing.T, value string) {
	t.Helper()
	before := flag.Lookup("update").Value.String()
	if err := flag.Set("update", value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("update", before) })
}

func TestGoldenFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	golden := func(text string) (bool, string) {
		return outcome(t, func(s *spy) { testkit.Golden(s, "sub/a.golden", text) })
	}
	setUpdate(t, "false")
	if failed, text := golden("one\ntwo\n"); !failed || !strings.Contains(text, "-update") {
		t.Errorf("without a file: failed %v: %s", failed, text)
	}
	setUpdate(t, "true")
	if failed, text := golden("one\ntwo\n"); failed {
		t.Errorf("to write it: %s", text)
	}
	if content, err := os.ReadFile(filepath.Join("testdata", "sub", "a.golden")); err != nil || string(content) != "one\ntwo\n" {
		t.Errorf("wrote %q, %v", content, err)
	}
	setUpdate(t, "false")
	if failed, text := golden("one\ntwo\n"); failed {
		t.Errorf("with an equal text: %s", text)
	}
	if failed, text := golden("one\nthree\n"); !failed || !strings.Contains(text, "three") || !strings.Contains(text, "-update") {
		t.Errorf("with another text: failed %v: %s", failed, text)
	}
}

// Equivalent objects created at different times by different servers print the same.
func TestYAMLIsTheSameInEveryRun(t *testing.T) {
	run := func(namespace, suffix, job, uid, when string) string {
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "made-" + suffix, UID: types.UID(uid)}
		return testkit.YAML(t,
			&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: namespace, GenerateName: "made-", Name: "made-" + suffix, UID: types.UID(uid), ResourceVersion: suffix,
					CreationTimestamp: metav1.Now(), ManagedFields: []metav1.ManagedFieldsEntry{{Manager: suffix}}, Generation: 2,
				},
				Data: map[string]string{"job": job, "at": when, "other": "11111111-2222-3333-4444-" + suffix + "0000000", "where": "in " + namespace},
			},
			&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{
					Namespace:       namespace,
					Name:            "b",
					OwnerReferences: []metav1.OwnerReference{owner},
					Labels:          map[string]string{"job": job},
				},
				Data: map[string][]byte{"key": []byte("CANARY")},
			},
		)
	}
	first := run("ns-one", "abcde", "0a0a0a0a-0000-0000-0000-000000000001", "0b0b0b0b-0000-0000-0000-000000000001", "2024-01-02T03:04:05Z")
	second := run(
		"ns-two",
		"fedcb",
		"0c0c0c0c-0000-0000-0000-000000000001",
		"0d0d0d0d-0000-0000-0000-000000000001",
		"2025-06-07T08:09:10.123+02:00",
	)
	if first != second {
		t.Errorf("printed\n%s\nand\n%s", first, second)
	}
	if strings.Contains(first, "CANARY") || strings.Contains(first, "Q0FOQVJZ") {
		t.Error("it shows a secret")
	}
	testkit.Golden(t, "objects.golden.yaml", first)
}

func TestYAMLShowsWhichUUIDsAreEqual(t *testing.T) {
	print := func(a, b string) string {
		return testkit.YAML(t, configMap("", "a", map[string]string{"a": a, "b": b}))
	}
	const x, y = "0a0a0a0a-0000-0000-0000-000000000001", "0b0b0b0b-0000-0000-0000-000000000001"
	if print(x, x) == print(x, y) {
		t.Error("equal and different UUIDs look the same")
	}
	if print(x, y) != print(y, x) {
		t.Error("the same relation looks different")
	}
}
