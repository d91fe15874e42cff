// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions_test

import (
	"testing"

	mock "espalier.dev/api/deployer/mock/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

var anything = mock.ProviderConfiguration{}

func TestJOB70_ItemsStartWhenWhatTheyDependOnHasSucceeded(t *testing.T) {
	s := newStage(t)
	s.start(t, s.Config())
	e := s.launch(t, testkit.Execution(s.ns, "app").
		MockItem("a", anything).MockItem("b", anything, "a").MockItem("c", anything, "a").MockItem("d", anything, "b", "c").Build())
	e = s.finished(t, e, lsv1alpha1.PhaseSucceeded)
	t.Logf("%+v", e.Status)
}
