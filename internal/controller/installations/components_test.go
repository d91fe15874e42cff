// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/archive"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/registry"
)

// nestRefs is a section of a blueprint with nested installations, each with the blueprint of the component that the reference of the same
// name leads to.
func nestRefs(names ...string) string {
	text := "subinstallations:\n"
	for _, name := range names {
		text += "- apiVersion: landscaper.gardener.cloud/v1alpha1\n  kind: InstallationTemplate\n  name: " + name +
			"\n  blueprint: {ref: cd://componentReferences/" + name + "/resources/blueprint}\n"
	}
	return text
}

// deploying is a component whose blueprint has a deploy item, and a nested installation for each reference.
func deploying(t *testing.T, name, version, deployItem string, references ...components.Reference) components.Component {
	t.Helper()
	blueprint := header + deploy(item(deployItem))
	var names []string
	for _, reference := range references {
		names = append(names, reference.Name)
	}
	if len(names) > 0 {
		blueprint += nestRefs(names...)
	}
	return components.Component{
		Name: name, Version: version, More: references,
		Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": blueprint})},
	}
}

// Overwrites apply to references at every level, including those of components that overwrites bring in. Each nested installation reports
// what it uses instead of what its parent refers to, as long as the two differ.
func TestOverwritesReachEveryLevel(t *testing.T) {
	const leaf, part, other = "example.com/leaf", "example.com/part", "example.com/other"
	w := newWorld(t)
	server := registry.Start(t, registry.Options{})
	for _, c := range []components.Component{
		deploying(t, "example.com/shop", "1.0.0", "shop-1",
			components.Reference{Name: "part", Component: part, Version: "1.0.0"},
			components.Reference{Name: "leaf", Component: leaf, Version: "1.0.0"}),
		deploying(t, part, "1.0.0", "part-1", components.Reference{Name: "leaf", Component: leaf, Version: "1.0.0"}),
		// What this one refers to does not exist.
		deploying(t, part, "2.0.0", "part-2", components.Reference{Name: "leaf", Component: leaf, Version: "1.5.0"}),
		deploying(t, leaf, "1.0.0", "leaf-1"),
		deploying(t, leaf, "2.0.0", "leaf-2"),
		deploying(t, other, "3.0.0", "other-3"),
	} {
		c.Push(t, components.Store(t, server, oci.Credential{}))
	}
	plain := w.contextTo(server.URL)
	plain.Name, plain.RegistryPullSecrets = "plain", nil
	shelf := w.contextTo(server.URL)
	shelf.RegistryPullSecrets, shelf.ComponentVersionOverwritesReference = nil, "pins"
	rule := func(name, version, otherName, otherVersion string) lsv1alpha1.ComponentVersionOverwrite {
		return lsv1alpha1.ComponentVersionOverwrite{
			Source:       lsv1alpha1.ComponentVersionOverwriteReference{ComponentName: name, Version: version},
			Substitution: lsv1alpha1.ComponentVersionOverwriteReference{ComponentName: otherName, Version: otherVersion},
		}
	}
	pins := &lsv1alpha1.ComponentVersionOverwrites{Overwrites: []lsv1alpha1.ComponentVersionOverwrite{
		rule(part, "1.0.0", "", "2.0.0"), rule(leaf, "1.0.0", "", "2.0.0"), rule(leaf, "1.5.0", other, "3.0.0"),
	}}
	pins.Namespace, pins.Name = w.namespace, "pins"
	w.create(plain, shelf, pins, testkit.Installation(w.namespace, "app").BlueprintRef("blueprint").Component("example.com/shop", "1.0.0").
		Context("shelf").Reconcile().Build())
	first := w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.deploysFrom(map[string]string{
		"app":           "",
		"app/part":      "version: 1.0.0 -> 2.0.0",
		"app/leaf":      "version: 1.0.0 -> 2.0.0",
		"app/part/leaf": "componentName: example.com/leaf -> example.com/other, version: 1.5.0 -> 3.0.0",
	}, "leaf-2", "other-3", "part-2", "shop-1")

	w.change("app", func(spec *lsv1alpha1.InstallationSpec) { spec.Context = "plain" })
	w.request("app")
	w.finishedAfter("app", first.Status.JobID)
	w.deploysFrom(map[string]string{"app": "", "app/part": "", "app/leaf": "", "app/part/leaf": ""}, "leaf-1", "part-1", "shop-1")
}

// deploysFrom checks what the installations of a tree report about overwrites, and which deploy items exist.
func (w *world) deploysFrom(told map[string]string, items ...string) {
	w.Helper()
	for path, want := range told {
		at := w.named("app")
		w.get(at)
		for _, name := range strings.Split(path, "/")[1:] {
			if at = w.children(at.Name)[name]; at == nil {
				w.Fatalf("there is no %s", path)
			}
		}
		got := condition(at, lsv1alpha1.ConditionComponentReferenceOverwrite)
		if got.Message != want || (got.Type == "") != (want == "") {
			w.Errorf("%s: the condition is %+v, want %q", path, got, want)
		}
	}
	if diff := cmp.Diff(items, slices.Sorted(maps.Keys(w.items()))); diff != "" {
		w.Error(diff)
	}
}

// The key for checking a signature may arrive later than the installation that requires the check.
func TestAMissingKeyIsAwaited(t *testing.T) {
	w := newWorld(t)
	server := registry.Start(t, registry.Options{})
	key := newKey(t)
	signed := deploying(t, "example.com/signed", "1.0.0", "one")
	signed.Key = key
	signed.Push(t, components.Store(t, server, oci.Credential{}))
	shelf := w.contextTo(server.URL)
	shelf.RegistryPullSecrets = nil
	shelf.VerificationSignatures = map[string]lsv1alpha1.VerificationSignature{components.SignatureName: {
		PublicKeySecretReference: &lsv1alpha1.SecretReference{
			ObjectReference: lsv1alpha1.ObjectReference{Name: "keys", Namespace: w.namespace},
			Key:             "key",
		},
	}}
	inst := testkit.Installation(w.namespace, "app").BlueprintRef("blueprint").Component("example.com/signed", "1.0.0").
		Context("shelf").Reconcile().Build()
	inst.Spec.Verification = &lsv1alpha1.Verification{SignatureName: components.SignatureName}
	w.create(shelf, inst)
	w.complains("app", "Context shelf: verificationSignatures."+components.SignatureName+".publicKeySecretReference: there is no Secret "+
		w.namespace+"/keys with a key key: create it")
	waiting := w.named("app")
	w.get(waiting)
	if items := w.items(); len(items) > 0 {
		t.Errorf("%d deploy items, although nothing was checked", len(items))
	}
	keys := &corev1.Secret{StringData: map[string]string{"key": components.PublicKey(t, key)}}
	keys.Namespace, keys.Name = w.namespace, "keys"
	w.create(keys)
	done := w.finished("app", lsv1alpha1.PhaseSucceeded)
	if done.Status.JobID != waiting.Status.JobID {
		t.Errorf("job %s has ended, want %s, which has waited", done.Status.JobID, waiting.Status.JobID)
	}
}

// A schema that is a resource of a component may be gzipped, whatever its media type.
func TestSchemasOfComponentsMayBePacked(t *testing.T) {
	w := newWorld(t)
	server := registry.Start(t, registry.Options{})
	schema := []byte(`{"type": "integer"}`)
	packed, err := archive.Gzip(schema)
	if err != nil {
		t.Fatal(err)
	}
	blueprint := header + strings.Replace(imports("base"), "schema: {}", "schema: {$ref: cd://resources/size}", 1)
	for version, content := range map[string]components.Resource{
		"1.0.0": {MediaType: "application/json", Content: schema},
		"2.0.0": {MediaType: "application/json+gzip", Content: packed},
		"3.0.0": {MediaType: "application/x-unheard-of", Content: packed},
	} {
		content.Name, content.Type = "size", "landscaper.gardener.cloud/jsonschema"
		components.Component{
			Name: "example.com/sized", Version: version,
			Resources: []components.Resource{components.Blueprint(t, "blueprint", map[string]string{"blueprint.yaml": blueprint}), content},
		}.Push(t, components.Store(t, server, oci.Credential{}))
	}
	shelf := w.contextTo(server.URL)
	shelf.RegistryPullSecrets = nil
	w.create(shelf, testkit.DataObject(w.namespace, "number", 1).Build(), testkit.DataObject(w.namespace, "word", "large").Build())
	for _, version := range []string{"1.0.0", "2.0.0", "3.0.0"} {
		name := func(of string) string { return of + "-" + version[:1] }
		for _, value := range []string{"number", "word"} {
			w.create(testkit.Installation(w.namespace, name(value)).BlueprintRef("blueprint").Component("example.com/sized", version).
				Context("shelf").ImportData("base", value).Reconcile().Build())
		}
		w.finished(name("number"), lsv1alpha1.PhaseSucceeded)
		w.eventually(name("word"), "refused by the schema", func(i *lsv1alpha1.Installation) bool {
			return i.Status.LastError != nil && strings.Contains(i.Status.LastError.Message, "integer")
		})
	}
}

// Roots that use a Context report what has no effect in it, in a condition and an event, until it is gone.
func TestWhatHasNoEffectInAContextIsReported(t *testing.T) {
	w := newWorld(t)
	server := registry.Start(t, registry.Options{})
	shop(t, "1.0.0").Push(t, components.Store(t, server, oci.Credential{}))
	resolvers := `type: ocm.config.ocm.software, resolvers: [{repository: {type: OCIRegistry, baseUrl: "` + server.URL + `"}}]`
	for name, text := range map[string]string{
		"shelf": "{" + resolvers + ", aliases: {home: {type: OCIRegistry}}}",
		"clean": "{" + resolvers + "}",
	} {
		config := &corev1.ConfigMap{Data: map[string]string{".ocmconfig": text}}
		config.Namespace, config.Name = w.namespace, name
		context := testkit.Context(w.namespace, name).Build()
		context.OCMConfig = &lsv1alpha1.LocalObjectReference{Name: name}
		w.create(config, context)
	}
	w.create(testkit.Installation(w.namespace, "app").BlueprintRef("blueprint").Component("example.com/shop", "1.0.0").
		Context("shelf").ExportData("word", "word").Reconcile().Build())
	const want = "Context shelf: aliases: aliases of repositories have no effect here"
	first := w.finished("app", lsv1alpha1.PhaseSucceeded)
	if got := warnings(first); !strings.Contains(got, want) {
		t.Errorf("the condition says %q, want %q in it", got, want)
	}
	w.eventuallyTold(first, string(lsv1alpha1.ConditionBlueprintWarnings), want)
	if got := warnings(w.children("app")["part"]); got != "" {
		t.Errorf("the nested installation says it again: %q", got)
	}
	w.change("app", func(spec *lsv1alpha1.InstallationSpec) { spec.Context = "clean" })
	w.request("app")
	if got := warnings(w.finishedAfter("app", first.Status.JobID)); got != "" {
		t.Errorf("the condition still says %q", got)
	}
}
