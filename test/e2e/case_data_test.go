// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

func TestCase_ImportsFromEverySource(t *testing.T) {
	w := newWorld(t)
	w.apply("sources.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	seen := w.configMap("seen")
	w.Read(seen)
	if want := map[string]string{"address": "http://garden:80/www", "user": "rose", "size": "3"}; !cmp.Equal(seen.Data, want) {
		t.Errorf("the blueprint has seen %v", seen.Data)
	}
	if got := w.data("link"); got != `"t0ken@example.com"` {
		t.Errorf("the export is %s", got)
	}

	w.setData("host", "[garden]")
	failed := w.rerun("app", lsv1alpha1.PhaseFailed)
	if !strings.Contains(failed.Status.LastError.Message, "address") {
		t.Errorf("lastError = %+v", failed.Status.LastError)
	}
	w.setData("host", "orchard")
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	if w.Read(seen); seen.Data["address"] != "http://orchard:80/www" {
		t.Errorf("after the repair the blueprint has seen %v", seen.Data)
	}
	w.wantNothingLeft("app")
	if w.data("host") == "" {
		t.Error("what users have made is gone")
	}
}

func TestCase_ImportExecutionsComputeAndRefuse(t *testing.T) {
	w := newWorld(t)
	w.setData("side", "11")
	w.apply("import-executions.yaml")
	failed := w.finished("app", lsv1alpha1.PhaseFailed)
	if !strings.Contains(failed.Status.LastError.Message, "a side is at most ten") {
		t.Errorf("lastError = %+v", failed.Status.LastError)
	}
	w.setData("side", "4")
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	if got := w.data("area"); got != "16" {
		t.Errorf("the export is %s", got)
	}
	w.setData("side", "four")
	failed = w.rerun("app", lsv1alpha1.PhaseFailed)
	if !strings.Contains(failed.Status.LastError.Message, "side") || strings.Contains(failed.Status.LastError.Message, "four") {
		t.Errorf("the error of a wrong type is %+v", failed.Status.LastError)
	}
}

func TestCase_ItemsImportsAndExportsComeAndGo(t *testing.T) {
	w := newWorld(t)
	for name, value := range map[string]string{"one": "x", "other": "v", "two": "z"} {
		w.setData(name, value)
	}
	for _, step := range []struct {
		file    string
		items   []string
		exports map[string]string
	}{
		{"sequence-1.yaml", []string{"a"}, map[string]string{"out": `"x-a"`, "elsewhere": "", "more": ""}},
		{"sequence-2.yaml", []string{"a", "b", "c"}, map[string]string{"out": `"x-a x-b x-c"`, "elsewhere": "", "more": ""}},
		{"sequence-3.yaml", []string{"c"}, map[string]string{"out": "", "elsewhere": `"v-c"`, "more": `"z"`}},
		{"sequence-1.yaml", []string{"a"}, map[string]string{"out": `"x-a"`, "elsewhere": "", "more": ""}},
	} {
		w.apply(step.file)
		w.finished("app", lsv1alpha1.PhaseSucceeded)
		items := []string{}
		for name := range w.items() {
			items = append(items, name)
		}
		if slices.Sort(items); !slices.Equal(items, step.items) {
			t.Errorf("%s: items %q", step.file, items)
		}
		for name, want := range step.exports {
			if got := w.data(name); got != want {
				t.Errorf("%s: export %s is %s, want %s", step.file, name, got, want)
			}
		}
	}
	w.wantNothingLeft("app")
}

func TestCase_ComponentsGivenInline(t *testing.T) {
	w := newWorld(t)
	w.apply("components.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	want := `["registry.example.com/bed:1.0.0","registry.example.com/fence:2.0.0","registry.example.com/bed:1.0.0"]`
	if got := w.data("images"); got != want {
		t.Errorf("the images are %s", got)
	}
}

func TestCase_AMissingImportIsAwaited(t *testing.T) {
	w := newWorld(t)
	w.apply("import-executions.yaml")
	testkit.Eventually(t, w.APIServer, w.installation("app"), testkit.Is("with an error", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseInit && i.Status.LastError != nil && strings.Contains(i.Status.LastError.Message, "side")
	}))
	w.setData("side", "3")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	if got := w.data("area"); got != "9" {
		t.Errorf("the export is %s", got)
	}
}
