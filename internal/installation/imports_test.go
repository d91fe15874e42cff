// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
)

// An import that belongs to an installation must be imported by the parent or exported by a sibling.
func TestCON22_ImportsOfOthersMustBeGiven(t *testing.T) {
	scope := dataflow.Scope{Namespace: "ns", Parent: "parent"}
	exporter := func(name, parent, reference string) []*lsv1alpha1.Installation {
		inst := &lsv1alpha1.Installation{}
		inst.Name, inst.Labels = name, map[string]string{lsv1alpha1.EncompassedByLabel: parent}
		inst.Spec.Exports.Data = []lsv1alpha1.DataExport{{Name: reference, DataRef: reference}}
		inst.Spec.Exports.Targets = []lsv1alpha1.TargetExport{{Name: reference, Target: reference}}
		return []*lsv1alpha1.Installation{inst}
	}
	const given, notGiven = "", "belongs to installation s"
	for name, test := range map[string]struct {
		// The object is what reference names in the context of parent; owner has written it.
		owner, parent, reference string
		exporters                []*lsv1alpha1.Installation
		want                     string
	}{
		"nobody's":                        {"", "parent", "word", nil, given},
		"of the parent":                   {"parent", "parent", "word", nil, given},
		"exported by a sibling":           {"s", "parent", "word", exporter("s", "parent", "word"), given},
		"global, exported by a root":      {"s", "", "word", exporter("s", "", "word"), given},
		"global, exported from elsewhere": {"s", "other", "#word", exporter("s", "other", "#word"), given},
		"private to another scope":        {"s", "other", "word", exporter("s", "other", "word"), notGiven},
		"no longer exported":              {"s", "parent", "word", exporter("s", "parent", "another"), notGiven},
		"global, no longer exported":      {"s", "", "word", nil, notGiven},
		"exported by another one":         {"s", "parent", "word", exporter("r", "parent", "word"), notGiven},
	} {
		of := dataflow.Scope{Namespace: "ns", Parent: test.parent}
		labels := map[string]string{
			lsv1alpha1.DataObjectContextLabel: of.Context(),
			lsv1alpha1.DataObjectKeyLabel:     strings.TrimPrefix(test.reference, "#"),
		}
		if test.owner != "" {
			labels[lsv1alpha1.DataObjectSourceLabel] = dataflow.ContextOf(test.owner)
		}
		object, target := &lsv1alpha1.DataObject{}, &lsv1alpha1.Target{}
		object.Name, object.Labels = of.ObjectName(test.reference), labels
		target.Name, target.Labels = object.Name, labels
		for kind, facts := range map[string]dataflow.Facts{
			"DataObject": {DataObjects: []*lsv1alpha1.DataObject{object}}, "Target": {Targets: []*lsv1alpha1.Target{target}},
		} {
			err := installation.ForeignImports(scope, facts, test.exporters)
			if (err == nil) != (test.want == "") ||
				err != nil && (!strings.Contains(err.Error(), kind+" "+object.Name+" "+test.want) || failure.KindOf(err) != failure.Waiting) {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
		}
	}
}

// A child that does not yet use what a sibling exports now is busy, whatever its status says: it will continue in a moment.
func TestCON20_AChildThatUsesOldExportsOfASiblingIsBusy(t *testing.T) {
	observe := func(change func(importer *lsv1alpha1.Installation)) installation.Observed {
		sub := func(name, version string) *lsv1alpha1.Installation {
			s := &lsv1alpha1.Installation{}
			s.Name, s.Spec.Flow = name, lsv1alpha1.FlowContinuous
			s.Status.Phase, s.Status.ConfigGeneration = lsv1alpha1.PhaseSucceeded, version
			return s
		}
		importer := sub("importer", "1")
		importer.Status.Imports = []lsv1alpha1.ImportStatus{{
			Name:             "word",
			SourceReference:  &lsv1alpha1.ObjectReference{Name: "exporter"},
			ConfigGeneration: "old",
		}}
		change(importer)
		return installation.NewObserved(installation.Snapshot{
			Installation: sub("parent", "1"), Subinstallations: []*lsv1alpha1.Installation{sub("exporter", "new"), importer},
		})
	}
	for name, c := range map[string]struct {
		change func(*lsv1alpha1.Installation)
		busy   bool
	}{
		"it uses an old version":     {func(*lsv1alpha1.Installation) {}, true},
		"it uses the present one":    {func(i *lsv1alpha1.Installation) { i.Status.Imports[0].ConfigGeneration = "new" }, false},
		"nobody has exported it":     {func(i *lsv1alpha1.Installation) { i.Status.Imports[0].SourceReference = nil }, false},
		"aborted, it does not go on": {func(i *lsv1alpha1.Installation) { i.Status.Phase = lsv1alpha1.PhaseAborted }, false},
		"frozen, it does not go on": {func(i *lsv1alpha1.Installation) {
			i.Annotations = map[string]string{lsv1alpha1.IgnoreAnnotation: "true"}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			children := observe(c.change).Children
			if len(children) != 2 || children[0].Busy() || children[1].Busy() != c.busy {
				t.Errorf("children %+v", children)
			}
		})
	}
}
