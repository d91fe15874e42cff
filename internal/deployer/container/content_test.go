// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/deployer/container"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

// Blueprint and component descriptor come from the registry of the item's Context.
func TestContentFromARegistry(t *testing.T) {
	registries, err := artifact.NewRegistries(artifact.RegistryOptions{
		Rules: dial.Rules{AllowLoopback: true}, CacheDirectory: t.TempDir(), CacheBytes: 64 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := registry.Start(t, registry.Options{})
	components.Component{
		Name: "example.com/shop", Version: "1.0.0",
		Resources: []components.Resource{
			components.Blueprint(t, "setup", map[string]string{"blueprint.yaml": "kind: Blueprint", "bin/run": "echo"}),
		},
		References: []components.Component{{Name: "example.com/base", Version: "2.0.0"}},
	}.Push(t, components.Store(t, r, oci.Credential{}))
	w := newWorld(t, func(o *container.Options) { o.Registries = registries.Open })
	w.Create(testkit.Context(w.Namespace, "shops").Repository(map[string]any{"type": "ociRegistry", "baseUrl": r.URL}).Build())
	w.process("")
	config := "image: shop\nblueprint: {ref: {resourceName: %}}\ncomponentDescriptor: {ref: {componentName: example.com/shop, version: 1.0.0}}"
	inShops := func(i *landscaper.DeployItem) { i.Spec.Context = "shops" }
	item := w.item("shop", strings.ReplaceAll(config, "%", "setup"), inShops)
	w.runs(w.pod(item), func(env inside.Environment) (int32, string) {
		if got := read(env, inside.EnvContent, "bin", "run"); got != "echo" {
			t.Errorf("the content is %q", got)
		}
		var found struct {
			Meta       struct{ SchemaVersion string }
			Components []struct{ Component struct{ Name string } }
		}
		err := json.Unmarshal([]byte(read(env, inside.EnvDescriptor)), &found)
		if err != nil || found.Meta.SchemaVersion != "v2" || len(found.Components) != 2 ||
			found.Components[0].Component.Name != "example.com/shop" {
			t.Errorf("the component descriptor is %+v, %v", found, err)
		}
		return 0, ""
	})
	w.succeeds(item)

	wrong := w.item("wrong", strings.ReplaceAll(config, "%", "nothing"), inShops)
	if got := lastError(w.fails(wrong)); !strings.Contains(got, "spec.config.blueprint") || !strings.Contains(got, "nothing") {
		t.Errorf("got %s", got)
	}
}

// Of the credentials in the Context and the configuration, the pod gets only those for the registries of its images.
func TestTheImageIsPulledWithTheCredentialOfItsRegistry(t *testing.T) {
	for name, test := range map[string]struct {
		helper string
		pulls  map[string]string
	}{
		"espalier-container is public": {helperImage, map[string]string{
			"one.example.com/shop:1":      `{"auths":{"one.example.com":{"password":"one-w0rd","username":"robot"}}}`,
			"two.example.com:5000/shop:1": `{"auths":{"two.example.com:5000":{"password":"two-w0rd","username":"robot"}}}`,
			"three.example.com/shop:1":    "",
		}},
		"espalier-container is private": {"one.example.com/espalier-container:1", map[string]string{
			"one.example.com/shop:1": `{"auths":{"one.example.com":{"password":"one-w0rd","username":"robot"}}}`,
			"two.example.com:5000/shop:1": `{"auths":{"one.example.com":{"password":"one-w0rd","username":"robot"},` +
				`"two.example.com:5000":{"password":"two-w0rd","username":"robot"}}}`,
			"three.example.com/shop:1": `{"auths":{"one.example.com":{"password":"one-w0rd","username":"robot"}}}`,
		}},
	} {
		t.Run(name, func(t *testing.T) { checkPulls(t, test.helper, test.pulls) })
	}
}

// checkPulls compares the pull secrets of pods, by image, for an image with espalier-container.
func checkPulls(t *testing.T, helper string, pulls map[string]string) {
	t.Helper()
	w := newWorld(t, func(o *container.Options) { o.HelperImage = helper })
	login := func(name, host string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}, Type: corev1.SecretTypeDockerConfigJson,
			StringData: map[string]string{corev1.DockerConfigJsonKey: `{"auths":{"` + host + `":{"username":"robot","password":"` + name + `-w0rd"}}}`},
		}
	}
	w.Create(login("one", "one.example.com"), login("two", "two.example.com:5000"),
		testkit.Context(w.Namespace, landscaper.DefaultContextName).PullSecret("one").Build())
	w.process("")
	for image, want := range pulls {
		host, _, _ := strings.Cut(image, ".")
		pod := w.pod(w.item(host, "image: "+image+"\nregistryPullSecrets: [{name: two}]"))
		got := ""
		for _, reference := range pod.Spec.ImagePullSecrets {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: reference.Name}}
			w.Read(secret)
			got += string(secret.Data[corev1.DockerConfigJsonKey])
		}
		if got != want {
			t.Errorf("%s: the pull secret is %s, want %s", image, got, want)
		}
	}
}
