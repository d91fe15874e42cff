// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/steer"
	"espalier.dev/internal/testkit"
)

// forceWorkloads delete what holds its deletion up. They are one act: before, jobs are running.
var forceWorkloads = []workload{{"force", []act{force}}}

// clog builds roots from which others import: one in a job, one in an update, and one that is frozen, with another spec than the deployed
// one.
func (s *scene) clog(t *testing.T) {
	t.Helper()
	endless := func(item, configMap, work string) blueprint {
		leaf := blueprint{items: []any{manifestItem(item, s.namespace, "stays", configMap), endlessItem(work)}}
		return blueprint{subs: []any{sub("inside", leaf, wiring{})}, exports: map[string]string{"flow": "strong"}}
	}
	for _, data := range []string{"millrace", "spillway", "outlet"} {
		s.create(t, testkit.Installation(s.namespace, "fisher-"+data).ImportData("flow", data).Build())
	}
	s.create(t,
		s.root("mill", endless("grind", "flour", "turn")).ExportData("flow", "millrace").Reconcile().Build(),
		s.flow("weir", endless("hold", "pool", "gauge")).ExportData("flow", "spillway").Build(),
		s.flow("dam", s.reservoir("stays")).ExportData("flow", "outlet").Build())
	for _, configMap := range []string{"flour", "pool", "lake"} {
		s.holds(t, configMap, "stays")
	}
	s.until(t, "turn", "handed a job", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" })
	s.known(t, "gauge")
	s.succeeds(t, "fisher-outlet") // because of the exports of the dam
	for _, frozen := range []client.Object{s.installation("dam"), testkit.Execution(s.namespace, "dam").Build()} {
		s.patch(t, frozen, `{"metadata":{"annotations":{%q:"true"}}}`, lsv1alpha1.IgnoreAnnotation)
	}
	s.replace(t, s.flow("dam", s.reservoir("changed")).Build())
}

func (s *scene) reservoir(value string) blueprint {
	return blueprint{items: []any{manifestItem("fill", s.namespace, value, "lake")}, exports: map[string]string{"flow": "strong"}}
}

// force deletes the roots as the command line does. What they have deployed stays, as it was.
func force(t *testing.T, s *scene) {
	s.clog(t)
	asker := steer.Asker{Client: s.Client()}
	for _, name := range []string{"mill", "weir", "dam"} {
		root, execution := s.installation(name), testkit.Execution(s.namespace, name).Build()
		if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(root), root); err != nil {
			t.Fatal(err)
		}
		err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(execution), execution)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		if err := asker.DeleteAnyway(t.Context(), root); err != nil {
			t.Fatal(err)
		}
		if execution.UID == "" {
			continue // It has none.
		}
		if err := asker.Thaw(t.Context(), root, execution); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"mill", "weir", "dam"} {
		s.gone(t, name)
	}
	s.rest(t, "forced")
	for _, configMap := range []string{"flour", "pool", "lake"} {
		s.holds(t, configMap, "stays")
	}
}
