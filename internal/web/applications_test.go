// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

func TestAnApprovalNamesTheFieldOfAnInstallationInAnotherNamespace(t *testing.T) {
	cluster := testkit.Server(t)
	home, prod := cluster.Namespace(t), cluster.Namespace(t)
	app := testkit.Installation(prod, "shop").Continuous().MapImport("version", "1.0.0").Build()
	app.Spec.RevisionField = "importDataMappings.version"
	line := testkit.Pipeline(home, "shop").App(lsv1alpha1.SchemeGroupVersion.String(), "Installation", "shop").
		Environment("dev", home).Environment("prod", prod).
		Promotion(pipelines.Promotion{Manual: true, Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}).Build()
	testkit.Create(t, cluster, app, line)
	line.Status.Environments = map[string]pipelines.EnvironmentStatus{"prod": {Promotion: &pipelines.PromotionStatus{
		Revision: "1.1.0", Run: 1, State: pipelines.PromotionUnapproved, StartTime: metav1.Now(), Strategy: pipelines.StrategyInstallation,
	}}}
	if err := cluster.Client().Status().Update(t.Context(), line); err != nil {
		t.Fatal(err)
	}
	serve(t, cluster, Options{}).local(t).follow("pipelines/" + home + "/shop").until(func(e event) bool {
		return strings.Contains(e.data, `"field":"spec.importDataMappings.version"`)
	})
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	stranger := s.login(t, tokenFor(t, cluster, home, looking()))
	e := stranger.follow("pipelines/" + home + "/shop").until(func(e event) bool { return strings.Contains(e.data, `"approval"`) })
	if strings.Contains(e.data, "importDataMappings") {
		t.Errorf("somebody who may not list installations in %s is told of them: %s", prod, e.data)
	}
}
