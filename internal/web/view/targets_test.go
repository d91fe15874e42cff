// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

// Deploy items of nested installations use copies of Targets; the page shows the originals.
func TestTargetsAreFollowedToTheirOrigin(t *testing.T) {
	root := testkit.Installation("a", "shop").ImportTarget("cluster", "east").Build()
	nested := clitest.Nested(root, "web").ImportTarget("place", "cluster").Build()
	execution := clitest.ExecutionOf(nested, "api")
	item := clitest.ItemOf(execution, "api")
	copyOf := func(installation, name string) *lsv1alpha1.Target {
		context := dataflow.ContextOf(installation)
		return testkit.Target("a", dataflow.ObjectName(context, name)).Label(lsv1alpha1.DataObjectContextLabel, context).
			Label(lsv1alpha1.DataObjectSourceLabel, context).Label(lsv1alpha1.DataObjectSourceTypeLabel, "import").
			Label(lsv1alpha1.DataObjectKeyLabel, name).Build()
	}
	first, second := copyOf("shop", "cluster"), copyOf("shop-web", "place")
	item.Spec.Target = &lsv1alpha1.ObjectReference{Namespace: "a", Name: second.Name}
	pipeline := testkit.Pipeline("a", "line").EnvironmentOn("west", "prod", "shop").Build()
	s := sceneOf(root, nested, execution, item, first, second, testkit.Target("a", "east").Build(), testkit.Target("a", "idle").Build(), pipeline)
	s.Checks = map[view.Ref]*view.TargetCheck{
		{Kind: "Target", Namespace: "a", Name: "east"}: {Reachable: true},
		{Kind: "Target", Namespace: "a", Name: "idle"}: {Error: "no route <b>"},
	}
	page := view.NewTargets(s)
	noNulls(t, page)
	var told []string
	for _, row := range page.Rows {
		runs := []string{}
		for _, ref := range row.Runs {
			runs = append(runs, ref.Kind+"/"+ref.Name)
		}
		told = append(told, row.Ref.Kind+" "+row.Ref.Name+" "+row.Status.Word+" ["+strings.Join(runs, " ")+"]")
	}
	expect(t, "rows", strings.Join(told, ", "), "Target east Reachable [Installation/shop], Target idle NotReadable [], "+
		"GitopsCluster west NotChecked [Pipeline/line]")
	expect(t, "verdict", page.Verdict, "1 of 3 targets cannot be read.")
	expect(t, "error", page.Rows[1].Status.Message, "no route <b>")
}

func TestVerdictsOfTargets(t *testing.T) {
	expect(t, "none", view.NewTargets(sceneOf()).Verdict, "There are no targets.")
	s := sceneOf(testkit.Target("a", "x").Build(), testkit.Target("a", "y").Build())
	expect(t, "not looked at", view.NewTargets(s).Verdict, "The targets have not been checked yet.")
	s.Checks = map[view.Ref]*view.TargetCheck{{Kind: "Target", Namespace: "a", Name: "x"}: {Reachable: true}}
	expect(t, "one looked at", view.NewTargets(s).Verdict, "1 of 2 targets can be read; the others have not been checked yet.")
	s.Checks[view.Ref{Kind: "Target", Namespace: "a", Name: "y"}] = &view.TargetCheck{Reachable: true}
	expect(t, "all", view.NewTargets(s).Verdict, "All 2 targets can be read.")
	s.Rights = without("list targets")
	expect(t, "hidden", len(view.NewTargets(s).Hidden), 1)
}
