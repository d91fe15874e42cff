// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// links is a tree in which b imports what a exports, with deploy items that depend on their imports.
var links = header + imports("base") + nest(
	sub{
		name: "a",
		blueprint: header + imports(
			"base",
		) + exports(
			"word: {{ .imports.base }}-a",
			"word",
		) + deploy(
			item("of-a", value("{{ .imports.base }}")),
		),
		imports: map[string]string{"base": "base"},
		exports: map[string]string{"word": "from-a"},
	},
	sub{
		name: "b",
		blueprint: header + imports(
			"before",
		) + exports(
			"word: {{ .imports.before }}-b",
			"word",
		) + deploy(
			item("of-b", value("{{ .imports.before }}")),
		),
		imports: map[string]string{"before": "from-a"},
		exports: map[string]string{"word": "from-b"},
	},
) + exports(`result: {{ index .values.dataobjects "from-b" }}`, "result") + deploy(item("own"))

func (w *world) secret(name, content string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Data: map[string][]byte{"word": []byte(content)}}
}

// result checks the export of the root.
func (w *world) result(want string) {
	w.Helper()
	object := &lsv1alpha1.DataObject{}
	object.Namespace, object.Name = w.namespace, "result"
	if !w.get(object) || string(object.Data.Raw) != want {
		w.Errorf("the export is %s, want %s", object.Data.Raw, want)
	}
}

// sourcesOf names who has exported the imports of an installation, and in which version.
func sourcesOf(inst *lsv1alpha1.Installation) (sources []string) {
	for _, imported := range inst.Status.Imports {
		source := "nobody"
		if reference := imported.SourceReference; reference != nil {
			source = reference.Name + " " + imported.ConfigGeneration
		}
		sources = append(sources, "from "+source)
	}
	return sources
}

func TestCON15_CON20_CON21_CON23_CON24_ATreeFollowsItsSpecAndItsImports(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(
		w.secret("base", "x"),
		w.installation("root", links).Continuous().ImportSecret("base", "base", "word").ExportData("result", "result").Build(),
	)
	root := w.completed("root", lsv1alpha1.PhaseSucceeded)
	w.result(`"x-a-b"`)
	a, b := w.children("root")["a"], w.children("root")["b"]
	if root.Status.ConfigGeneration == "" || a.Status.ConfigGeneration == "" {
		t.Errorf("versions: root %q, a %q", root.Status.ConfigGeneration, a.Status.ConfigGeneration)
	}
	if diff := cmp.Diff([]string{"from nobody"}, sourcesOf(root)); diff != "" {
		t.Errorf("imports of the root (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"from " + a.Name + " " + a.Status.ConfigGeneration}, sourcesOf(b)); diff != "" {
		t.Errorf("imports of b (-want +got):\n%s", diff)
	}
	recorder.Quiet(t, time.Second)
	// The inputs of an update are stored together with the phase that follows it.
	for _, name := range []string{"root", w.children("root")["b"].Name} {
		updated := recorder.Of(w.named(name)).Where(func(r testkit.Revision) bool { return r.Field("status.observedGeneration") == "1" })
		if r := updated[0]; r.Field("status.phase") != string(lsv1alpha1.PhaseProgressing) || r.Field("status.configGeneration") == "" ||
			r.Field("status.imports[0].configGeneration") == "" {
			t.Errorf("%s was updated in phase %q, of version %q", name, r.Field("status.phase"), r.Field("status.configGeneration"))
		}
	}
	if begun, ended := deployments(recorder.History()); begun != 3 || ended != 3 {
		t.Errorf("%d deployments begun, %d ended, want 3", begun, ended)
	}

	w.gitops(recorder, func() {
		if err := w.cluster.Update(w.Context(), w.secret("base", "new")); err != nil {
			t.Fatal(err)
		}
		w.eventually("root", "updated", func(i *lsv1alpha1.Installation) bool {
			return i.Status.ConfigGeneration != root.Status.ConfigGeneration && i.Status.Phase == lsv1alpha1.PhaseSucceeded
		})
	}, 2)
	w.result(`"new-a-b"`)
	w.checkContinuous(recorder.History())
}

// gitops makes a change and checks how many deployments it causes, and that nothing happens after that.
func (w *world) gitops(recorder *testkit.Recorder, change func(), want int) {
	w.Helper()
	before := recorder.History()
	change()
	recorder.Quiet(w.T, time.Second)
	since := recorder.Since(before)
	if begun, _ := deployments(since); begun != want {
		w.Errorf("%d deployments, want %d", begun, want)
	}
}

func TestCON02_CON14_ApplyingTheSameManifestAgainDoesNothing(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	manifest := func(text string) *lsv1alpha1.Installation {
		return w.installation("root", threeLevels(value(text))).Continuous().Build()
	}
	w.gitops(recorder, func() { w.apply(manifest("1")); w.completed("root", lsv1alpha1.PhaseSucceeded) }, 3)
	before := recorder.History()
	for range 3 {
		w.apply(manifest("1"))
	}
	recorder.Quiet(t, time.Second)
	if since := recorder.Since(before); len(since) > 0 {
		t.Errorf("applying the same again has led to %d writes: %s", len(since), since)
	}
	w.gitops(recorder, func() { w.apply(manifest("2")); w.apply(manifest("2")); w.completed("root", lsv1alpha1.PhaseSucceeded) }, 1)
}
