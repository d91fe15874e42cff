// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/internal/testkit/managed"
)

// hidden is the value of a Secret that nothing may show.
const hidden = "pssst-not-for-anybody"

// world is a namespace with a tree that real controllers and deployers have processed: a root installation with a nested one, which has a
// deploy item with objects and one with a release.
type world struct {
	*managed.World
	shop, nested *lsv1alpha1.Installation
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{World: managed.NewWorld(t)}
}

// deploy runs the job of the tree to its end, with all controllers.
func (w *world) deploy() {
	w.Helper()
	w.Create(
		testkit.Target(w.Namespace, "cluster").Cluster(w.T, w.APIServer).Build(),
		testkit.Installation(w.Namespace, "shop").ImportTarget("cluster", "cluster").Blueprint(w.fill(shopBlueprint)).Reconcile().Build(),
	)
	w.Manage()
	w.shop = testkit.EventuallyFinished(w.T, w.APIServer, testkit.Installation(w.Namespace, "shop").Build(), lsv1alpha1.PhaseSucceeded)
	var list lsv1alpha1.InstallationList
	if err := w.Client().List(w.Context(), &list, client.InNamespace(w.Namespace), client.HasLabels{lsv1alpha1.EncompassedByLabel}); err != nil ||
		len(list.Items) != 1 {
		w.Fatalf("nested installations: %v, %v", list.Items, err)
	}
	w.nested = &list.Items[0]
}

func (w *world) fill(text string) string {
	w.Helper()
	chart := base64.StdEncoding.EncodeToString(helmcharts.Pack(w.T, map[string]string{
		"Chart.yaml":           "apiVersion: v2\nname: site\nversion: 1.2.0\n",
		"templates/all.yaml":   siteChart,
		"templates/notes.yaml": "# nothing\n",
	}))
	return strings.NewReplacer("NAMESPACE", w.Namespace, "CHART", chart, "HIDDEN", hidden).Replace(text)
}

// run runs a command.
func (w *world) run(command func(cli.Environment) *cobra.Command, args ...string) clitest.Result {
	w.Helper()
	return clitest.Run(w.T, w.APIServer, w.Namespace, clitest.Call{Command: command, Args: args})
}

// configMap is one in the world.
type configMap struct {
	*corev1.ConfigMap
	w *world
}

func (w *world) settings() configMap {
	w.Helper()
	found := configMap{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"}}, w}
	if !w.Read(found.ConfigMap) {
		w.Fatal("ConfigMap settings does not exist")
	}
	return found
}

// Delete deletes it.
func (c configMap) Delete() {
	c.w.Helper()
	c.w.World.Delete(c.ConfigMap)
}

const shopBlueprint = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
subinstallations:
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: web
  imports: {targets: [{name: cluster, target: cluster}]}
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        imports:
        - {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
        deployExecutions:
        - name: default
          type: GoTemplate
          template: |
            deployItems:
            - name: objects
              type: landscaper.gardener.cloud/kubernetes-manifest
              target: {import: cluster}
              config:
                apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
                kind: ProviderConfiguration
                readinessChecks: {disableDefault: true}
                manifests:
                - manifest:
                    apiVersion: v1
                    kind: ConfigMap
                    metadata: {name: settings, namespace: NAMESPACE}
                    data: {colour: green}
                - policy: keep
                  manifest:
                    apiVersion: v1
                    kind: Secret
                    metadata: {name: credentials, namespace: NAMESPACE}
                    stringData: {password: HIDDEN}
                - manifest:
                    apiVersion: landscaper.gardener.cloud/v1alpha1
                    kind: Installation
                    metadata: {name: inner, namespace: NAMESPACE}
                    spec:
                      blueprint:
                        inline:
                          filesystem:
                            blueprint.yaml: "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"
            - name: chart
              type: landscaper.gardener.cloud/helm
              target: {import: cluster}
              config:
                apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
                kind: ProviderConfiguration
                name: site
                namespace: NAMESPACE
                readinessChecks: {disableDefault: true}
                chart: {archive: {raw: CHART}}
`

const siteChart = `apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data: {text: welcome}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: site}
spec:
  selector: {matchLabels: {app: site}}
  template:
    metadata: {labels: {app: site}}
    spec: {containers: [{name: c, image: "example.org/site:1"}]}
`
