// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

func TestCase_NestedInstallationsRunInTheOrderOfTheirData(t *testing.T) {
	w := newWorld(t)
	w.apply("chain.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	if got := w.data("word"); got != `"ABCD"` {
		t.Errorf("the chain has made %s", got)
	}
	before := w.names(&lsv1alpha1.InstallationList{})
	w.apply("chain-joined.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	if got := w.data("word"); got != `"ABCD"` {
		t.Errorf("joined they have made %s", got)
	}
	if after := w.names(&lsv1alpha1.InstallationList{}); !slices.Equal(before, after) {
		t.Errorf("nested installations %q have become %q", before, after)
	}
	w.apply("chain-ambiguous.yaml")
	failed := w.finished("app", lsv1alpha1.PhaseFailed)
	if !strings.Contains(failed.Status.LastError.Message, "word-a") {
		t.Errorf("lastError = %+v", failed.Status.LastError)
	}
	if got := w.data("word"); got != `"ABCD"` {
		t.Errorf("after the failure the export is %s", got)
	}
	w.wantNothingLeft("app")
}

func TestCase_ANestedInstallationForEachElementOfAList(t *testing.T) {
	w := newWorld(t)
	w.setData("plants", "[{name: rose, colour: red}, {name: lily, colour: white}]")
	w.apply("list.yaml")
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed("lily", "rose")

	w.setData("plants", "[{name: rose, colour: yellow}, {name: iris, colour: blue}]")
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed("iris", "rose")
	if rose := w.configMap("rose"); !w.Read(rose) || rose.Data["colour"] != "yellow" {
		t.Errorf("the rose is %v", rose.Data)
	}

	w.setData("plants", "[]")
	w.rerun("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed([]string{}...)
	w.wantNothingLeft("app")
}

func TestCase_TargetsAreExportedAndImported(t *testing.T) {
	w := newWorld(t)
	w.apply("targets.yaml")
	w.rerun("maker", lsv1alpha1.PhaseSucceeded)
	first := w.finished("user", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed("list-0", "list-1", "list-2", "single")
	if got := w.data("counted"); got != `{"all":3,"none":0,"side":"none"}` {
		t.Errorf("the importer has seen %s", got)
	}

	object := &lsv1alpha1.DataObject{}
	object.Namespace, object.Name = w.Namespace, "config"
	w.Patch(object, `{"data":{"side":"north"}}`)
	w.rerun("maker", lsv1alpha1.PhaseSucceeded)
	second := w.nextJob("user", first.Status.JobID)
	if got := w.data("counted"); second.Status.Phase != lsv1alpha1.PhaseSucceeded || got != `{"all":3,"none":0,"side":"north"}` {
		t.Errorf("after the update the importer has seen %s: %+v", got, second.Status)
	}
	w.removed("user")
	w.wantDeployed([]string{}...)
	w.wantNothingLeft("maker")
}

func TestCase_TargetMapsAreForwardedPickedFromAndComposed(t *testing.T) {
	w := newWorld(t)
	w.apply("target-maps.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed("again-blue", "again-red", "composed-fresh", "composed-warm", "own-blue", "own-red", "single", "whole-blue", "whole-red")
	w.apply("target-maps-grown.yaml")
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.wantDeployed(
		"again-green",
		"again-red",
		"composed-fresh",
		"composed-warm",
		"own-green",
		"own-red",
		"single",
		"whole-green",
		"whole-red",
	)
	w.wantNothingLeft("app")
}
