// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/internal/release/bundle"
)

// What docs/install.md says about private registries reaches every pod, with Helm and with kustomize.
func TestInstallingFromAPrivateRegistry(t *testing.T) {
	page, err := os.ReadFile("../../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### From a private registry\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 2 {
		t.Fatalf("the section has %d blocks of YAML, not the values and the overlay", len(blocks))
	}
	values := blocks[0][1] + "ui: {enabled: true, hosts: [espalier.example.com]}\n"
	overlay := "resources: [../default]\ncomponents: [../components/ha, ../components/ui]\n" +
		strings.ReplaceAll(blocks[1][1], ":V", ":"+version)
	files := append(kustomizations(t), bundle.File{Name: "private/kustomization.yaml", Content: []byte(overlay)})
	text, err := Build(files, "private")
	if err != nil {
		t.Fatal(err)
	}
	for tool, objects := range map[string][]*unstructured.Unstructured{"Helm": rendered(t, values), "kustomize": split(t, string(text))} {
		t.Run(tool, func(t *testing.T) {
			checkPrivate(t, byKey(t, objects), "espalier-controller", "espalier-controller")
			checkPrivate(t, byKey(t, objects), "espalier-ui", "espalier")
			args := argsOf(t, byKey(t, objects)["Deployment "+system+"/espalier-controller"])
			if want := "--container-image=registry.example.com/espalier/espalier-container:" + version; !slices.Contains(args, want) {
				t.Errorf("the controllers are started with %q, without %s", args, want)
			}
		})
	}
}

// checkPrivate requires that a Deployment pulls its image from the registry, with the Secret.
func checkPrivate(t *testing.T, objects map[string]*unstructured.Unstructured, name, image string) {
	t.Helper()
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects["Deployment "+system+"/"+name].Object, &deployment); err != nil {
		t.Fatal(err)
	}
	pod := deployment.Spec.Template.Spec
	if got, want := pod.Containers[0].Image, "registry.example.com/espalier/"+image+":"+version; got != want {
		t.Errorf("%s pulls %s, not %s", name, got, want)
	}
	if len(pod.ImagePullSecrets) != 1 || pod.ImagePullSecrets[0].Name != "registry-login" {
		t.Errorf("%s pulls with %v", name, pod.ImagePullSecrets)
	}
}
