// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/migrate"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// landscaperServer has the CRDs of Landscaper's users, and a Deployment of it.
func landscaperServer(t *testing.T) *testkit.APIServer {
	t.Helper()
	server := testkit.NewServer(t)
	files, err := filepath.Glob("../../config/crd/testdata/reference/landscaper.*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d definitions: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			t.Fatal(err)
		}
		definition.Name = definition.Spec.Names.Plural + "." + definition.Spec.Group
		server.InstallCRD(t, definition)
	}
	labels := map[string]string{"app": "landscaper"}
	testkit.Create(t, server, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "landscaper"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/landscaper-controller:v0.142.0"}}},
			},
		},
	})
	return server
}

// The command changes no object, and neither do our controllers that start after it: a take-over starts no job. The next one starts on
// request.
func TestTakeover_TheCommandAndTheControllersAfterItWriteNothing(t *testing.T) {
	w := worldOn(t, landscaperServer(t))
	w.leaveBehind()
	before := map[string]string{}
	for _, object := range w.tree() {
		before[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetResourceVersion()
	}
	result := clitest.Run(t, w.APIServer, w.Namespace, clitest.Call{Command: migrate.New, Args: []string{"landscaper", "--yes"}})
	if result.Code != cli.ExitOK || !strings.Contains(result.Stdout, "installations.landscaper.gardener.cloud: replaced") {
		t.Fatalf("the command ends with %d:\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	w.undisturbed()
	for _, object := range w.tree() {
		status, title := runStatus(object), fmt.Sprintf("%T %s", object, object.GetName())
		if object.GetResourceVersion() != before[title] || status.JobID != oldJob || status.JobIDFinished != oldJob {
			t.Errorf("%s was written: %+v", title, status)
		}
	}
	root := w.rerun("shop", lsv1alpha1.PhaseSucceeded)
	w.checkTree(root.Status.JobID)
}
