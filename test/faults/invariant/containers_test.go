// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/deployer/container/inside"
)

// podOf creates the pod of a deploy item, for a run that needs a Secret.
func podOf(item, run, secret string) edit {
	return func(u *unstructured.Unstructured) {
		label(containerItemLabel, item)(u)
		annotate(inside.AnnotationRun, run)(u)
		sources := []any{map[string]any{"secret": map[string]any{"name": secret}}, map[string]any{"serviceAccountToken": map[string]any{}}}
		set([]any{map[string]any{"name": "input", "projected": map[string]any{"sources": sources}}}, "spec", "volumes")(u)
	}
}

// image sets the state of a pod's image: running or terminated.
func image(state string) edit {
	return set([]any{
		map[string]any{"name": "wait", "state": map[string]any{"running": map[string]any{}}},
		map[string]any{"name": imageContainer, "state": map[string]any{state: map[string]any{}}},
	}, "status", "containerStatuses")
}

func TestImagesRunOnce(t *testing.T) {
	first := func() *story {
		return tell().write("Pod one", podOf("item", "first", "input")).write("Pod one", image("running"), phase("Running"))
	}
	ended := func() *story { return first().write("Pod one", image("terminated"), phase("Succeeded")) }
	check(t, "I18", map[string]example{
		"one": {ended(), ""},
		"the next run": {
			ended().delete("Pod one").write("Pod one", podOf("item", "second", "input")).write("Pod one", image("running")), "",
		},
		"a lost one, and a next": {
			first().delete("Pod one").write("Pod one", podOf("item", "second", "input")).write("Pod one", image("running")), "",
		},
		"an evicted one": {
			first().write("Pod one", phase("Failed")).write("Pod two", podOf("item", "second", "input")).write("Pod two", image("running")), "",
		},
		"one that never begins": {ended().delete("Pod one").write("Pod one", podOf("item", "first", "input")).delete("Pod one"), ""},
		"of another item":       {first().write("Pod two", podOf("other", "second", "input")).write("Pod two", image("running")), ""},
		"twice for a run": {
			ended().delete("Pod one").write("Pod one", podOf("item", "first", "input")).write("Pod one", image("running")), "revision 6: its image runs for run first, for which that of another pod has run before",
		},
		"too quick to be watched": {
			ended().write("Pod two", podOf("item", "first", "input"), image("terminated")), "for which that of another pod has run before",
		},
		"two at a time": {
			first().write("Pod two", podOf("item", "second", "input")).write("Pod two", image("running")), "its image runs, and so does that of Pod garden/one",
		},
	})
}

func TestInputStays(t *testing.T) {
	made := func() *story { return tell().write("Secret input").write("Pod one", podOf("item", "first", "input")) }
	check(t, "I19", map[string]example{
		"after the begin":    {made().write("Pod one", image("running")).delete("Secret input"), ""},
		"after the end":      {made().write("Pod one", phase("Failed")).delete("Secret input"), ""},
		"of a pod that goes": {made().write("Pod one", dying()).delete("Secret input"), ""},
		"something else":     {made().write("Secret other").delete("Secret other"), ""},
		"of a pod that begins": {
			made().delete("Secret input"), "Secret garden/input, revision 3: it was deleted, and Pod garden/one, which needs it, has not begun",
		},
	})
}

// Objects named after UIDs are compared under stable names, and what differs from run to run must only exist.
func TestSameEndingOfContainers(t *testing.T) {
	tale := func(digest, bytes string) *story {
		mine := label(containerItemLabel, "00000000-0000-4000-8000-00"+digest)
		return tell().
			write("Pod press-"+digest, mine, annotate(inside.AnnotationRun, bytes), phase("Failed"), set(bytes, "spec", "nodeName")).
			write("Secret press-"+digest+"-state-a-0", mine, label(containerTypeLabel, containerState), set(map[string]any{"config": bytes}, "data")).
			write("DeployItem press", set("press-"+digest, "status", "providerStatus", "podStatus", "podName"))
	}
	reference := tale("0123456789", "YQ==").history
	other := func() *story { return tale("abcdefabcd", "Yg==") }
	for name, c := range map[string]example{
		"the same":         {other(), ""},
		"a pod has gone":   {other().delete("Pod press-abcdefabcd"), "Pod press-<item>, revision 0: it does not exist"},
		"a pod has not":    {other().write("Pod press-abcdefabcd", phase("Running")), `status.phase is "Running", want "Failed"`},
		"a Secret is left": {other().write("Secret press-abcdefabcd-input-01234567-0"), "Secret press-<item>-input-<run>-0"},
		"another pod is it": {
			other().write("DeployItem press", set("other", "status", "providerStatus", "podStatus", "podName")), `podName is "other"`,
		},
	} {
		t.Run(name, func(t *testing.T) { expect(t, SameEnding(reference, c.story.history), c.want) })
	}
}
