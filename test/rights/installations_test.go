// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/components"
	"espalier.dev/internal/testkit/helmcharts"
	"espalier.dev/internal/testkit/kubelet"
	"espalier.dev/internal/testkit/registry"
)

const (
	header = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"
	// mockConfig starts the configuration of a mock deploy item.
	mockConfig = "apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration"
	target     = "type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster"
	text       = "type: data, schema: {type: string}"
)

// nested is a nested installation. WORD is its export.
const nested = `
subinstallations:
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: bed
  imports: {data: [{name: size, dataRef: size}], targets: [{name: cluster, target: cluster}]}
  exports: {data: [{name: crop, dataRef: crop}]}
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        imports: [{name: size, ` + text + `}, {name: cluster, ` + target + `}]
        exports: [{name: crop, ` + text + `}]
        deployExecutions:
        - name: default
          type: GoTemplate
          template: |
            deployItems: [{name: dig, type: landscaper.gardener.cloud/mock, config: {` + mockConfig + `, export: {crop: WORD}}}]
        exportExecutions:
        - {name: default, type: GoTemplate, template: "exports: {crop: {{ .values.deployitems.dig.crop }}}"}
`

// deployed has a deploy item for each deployer, with exports.
const deployed = `
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - {name: seed, type: landscaper.gardener.cloud/mock, config: {` + mockConfig + `, export: {seed: {{ .imports.size }}}}}
    - name: pot
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: spare}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        manifests:
        - manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: pot, namespace: NAMESPACE}, data: {size: {{ .imports.size }}}}
        exports: {exports: [{key: pot, fromResource: {apiVersion: v1, kind: ConfigMap, name: pot, namespace: NAMESPACE}, jsonPath: .data.size}]}
    - name: chart
      type: landscaper.gardener.cloud/helm
      target: {import: cluster}
      config:
        apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        name: chart
        namespace: NAMESPACE
        chart: {ref: "HOST/charts/word:1.0.0"}
        values: {from: {{ .imports.size }}}
        exports: {exports: [{key: word, fromResource: {apiVersion: v1, kind: ConfigMap, name: chart, namespace: NAMESPACE}, jsonPath: .data.word}]}
    - name: run
      type: landscaper.gardener.cloud/container
      config:
        apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        image: registry.example.com/shop:1
        importValues: {size: {{ .imports.size }}}
exports: [{name: word, ` + text + `}]
exportExecutions:
- {name: default, type: GoTemplate, template: "exports: {word: {{ .values.deployitems.seed.seed }}}"}
`

// jobs runs the life of a tree whose blueprint comes from a registry, with all deployers: it is created, changed, reduced and deleted.
func (s *scene) jobs() {
	shelf := s.stocked()
	s.clusters()
	s.Create(testkit.DataObject(s.Namespace, "size", "small").Build(), testkit.DataObject(s.Namespace, "extra", "more").Build(),
		s.secret("login", "password", "s3cretword"), s.configMap("note", "text", "hello"))
	s.plays()
	imports := header + "imports: [{name: size, " + text + "}, {name: cluster, " + target + "}"
	all := imports + ", {name: spare, " + target + "}"
	for _, name := range []string{"extra", "password", "note"} {
		all += ", {name: " + name + ", " + text + "}"
	}
	all += "]"
	s.release(shelf, "1.0.0", all+strings.ReplaceAll(nested, "WORD", "one")+deployed)
	s.release(shelf, "2.0.0", all+strings.ReplaceAll(nested, "WORD", "two")+deployed)
	s.release(shelf, "3.0.0", imports+"]\nexports: [{name: word, "+text+"}]\n"+`
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems: [{name: seed, type: landscaper.gardener.cloud/mock, config: {`+mockConfig+`}}]
exportExecutions: [{name: default, type: GoTemplate, template: "exports: {word: none}"}]
`)
	s.Create(testkit.Installation(s.Namespace, "app").BlueprintRef("blueprint").Component("example.com/app", "1.0.0").Context("shelf").
		ImportTarget("cluster", "cluster").ImportTarget("spare", "spare").ImportData("size", "size").ImportData("extra", "extra").
		ImportSecret("password", "login", "password").ImportConfigMap("note", "note", "text").ExportData("word", "word").Reconcile().Build())
	s.finished("app", lsv1alpha1.PhaseSucceeded)

	// The rights of the pods are restored.
	s.tamper()
	s.Patch(testkit.DataObject(s.Namespace, "size", "").Build(), `{"data":"large"}`)
	s.Patch(testkit.Target(s.Namespace, "cluster").Build(), `{"spec":{"config":{"selfConfig":{"expirationSeconds":7200}}}}`)
	s.Patch(s.installation("app"), `{"spec":{"componentDescriptor":{"ref":{"version":"2.0.0"}}}}`)
	s.again("app")

	s.Patch(s.installation("app"), `{"spec":{"componentDescriptor":{"ref":{"version":"3.0.0"}},"imports":{
		"data":[{"name":"size","dataRef":"size"}],"targets":[{"name":"cluster","target":"cluster"}]}}}`)
	s.again("app")
	s.removed(s.installation("app"))
}

// tamper removes the rights that the container deployer has given its pods.
func (s *scene) tamper() {
	s.Helper()
	mine := client.MatchingLabels{"espalier.dev/deployer": "container"}
	var roles rbacv1.RoleList
	var bindings rbacv1.RoleBindingList
	for _, list := range []client.ObjectList{&roles, &bindings} {
		if err := s.Client().List(s.Context(), list, client.InNamespace(s.Namespace), mine); err != nil {
			s.Fatal(err)
		}
	}
	if len(roles.Items) != 1 || len(bindings.Items) != 1 {
		s.Fatalf("the pods have %d roles and %d bindings", len(roles.Items), len(bindings.Items))
	}
	s.Patch(&roles.Items[0], `{"rules":[]}`)
	s.Patch(&bindings.Items[0], `{"subjects":[]}`)
}

// plays runs the pods of the namespace. Their image exports a value.
func (s *scene) plays() {
	s.Helper()
	player := kubelet.Kubelet{Client: s.Client(), Config: s.Config(), TempDir: s.TempDir}
	testkit.Run(s.T, func(ctx context.Context) error {
		return player.Serve(ctx, s.Namespace, func(env inside.Environment) (int32, string) {
			if env(inside.EnvOperation) != "RECONCILE" {
				return 0, ""
			}
			if err := os.WriteFile(env(inside.EnvExports), []byte("ran: yes"), 0o600); err != nil {
				return 1, err.Error()
			}
			return 0, ""
		})
	})
}

const registryPassword = "the-w0rd-of-the-registry"

// stocked starts a private registry, and creates the Context shelf that refers to it, with everything that a Context can name.
func (s *scene) stocked() helmcharts.Shelf {
	s.Helper()
	shelf := helmcharts.Shelf{Username: "robot", Password: registryPassword}
	shelf.Registry = registry.Start(s.T, registry.Options{TLS: true, Username: shelf.Username, Password: shelf.Password})
	host, port, _ := strings.Cut(shelf.Host, ":")
	scope := testkit.Context(s.Namespace, "shelf").PullSecret("pull").
		Repository(map[string]any{"type": "ociRegistry", "baseUrl": shelf.URL}).Build()
	scope.ComponentVersionOverwritesReference = "none-yet"
	scope.OCMConfig = &lsv1alpha1.LocalObjectReference{Name: "ocm"}
	s.Create(scope, s.configMap("ocm", ".ocmconfig", "type: generic.config.ocm.software/v1\nconfigurations: []\n"),
		&lsv1alpha1.ComponentVersionOverwrites{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "none-yet"}},
		s.secret("pull", ".ocmcredentialconfig", fmt.Sprintf(`{type: credentials.config.ocm.software, consumers: [{
			identity: {type: OCIRegistry, hostname: %q, port: %q},
			credentials: [{type: Credentials, properties: {username: robot, password: %s, certificateAuthority: %q}}]}]}`,
			host, port, registryPassword, shelf.CA)))
	shelf.Push(s.T, "charts/word:1.0.0", helmcharts.Pack(s.T, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: word\nversion: 1.0.0\n",
		"templates/word.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {word: "{{ .Values.from }}"}
`,
	}))
	return shelf
}

// release pushes a version of the component.
func (s *scene) release(shelf helmcharts.Shelf, version, blueprint string) {
	s.Helper()
	blueprint = strings.NewReplacer("NAMESPACE", s.Namespace, "HOST", shelf.Host).Replace(blueprint)
	components.Component{Name: "example.com/app", Version: version, Resources: []components.Resource{
		components.Blueprint(s.T, "blueprint", map[string]string{"blueprint.yaml": blueprint}),
	}}.Push(s.T, components.Store(s.T, shelf.Registry, oci.Credential{Username: shelf.Username, Password: shelf.Password}))
}

// states keeps states of templates from job to job.
func (s *scene) states() {
	s.Create(testkit.Installation(s.Namespace, "app").Blueprint(header + `
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems: []
    state: {count: {{ if .state }}2{{ else }}1{{ end }}}
`).Reconcile().Build())
	s.finished("app", lsv1alpha1.PhaseSucceeded)
	s.again("app")
	s.removed(s.installation("app"))
}

// continuous runs an installation that follows its imports, even when its exports are deleted.
func (s *scene) continuous() {
	s.Create(testkit.DataObject(s.Namespace, "size", "small").Build(), testkit.Installation(s.Namespace, "lawn").
		Blueprint(header+`
imports: [{name: size, `+text+`}]
exports: [{name: word, `+text+`}]
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems: [{name: seed, type: landscaper.gardener.cloud/mock, config: {`+mockConfig+`, export: {seed: {{ .imports.size }}}}}]
exportExecutions: [{name: default, type: GoTemplate, template: "exports: {word: {{ .values.deployitems.seed.seed }}}"}]
`).ImportData("size", "size").ExportData("word", "word").Continuous().Build())
	s.exports("word", `"small"`)
	s.Patch(testkit.DataObject(s.Namespace, "size", "").Build(), `{"data":"large"}`)
	s.exports("word", `"large"`)
	s.Delete(testkit.DataObject(s.Namespace, "word", "").Build())
	s.exports("word", `"large"`)
	s.Annotate(s.installation("lawn"), "reconcile.fluxcd.io/requestedAt", "now")
	testkit.Eventually(s.T, s.APIServer, s.installation("lawn"), testkit.Is("asked", func(i *lsv1alpha1.Installation) bool {
		return i.Status.LastHandledReconcileAt == "now"
	}))
	testkit.Eventually(s.T, s.APIServer, s.installation("lawn"), testkit.Is("at rest", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseSucceeded && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
	}))
	s.removed(s.installation("lawn"))
}

// exports waits until a DataObject has a value.
func (s *scene) exports(name, value string) {
	s.Helper()
	testkit.Eventually(s.T, s.APIServer, testkit.DataObject(s.Namespace, name, "").Build(),
		testkit.Is(value, func(d *lsv1alpha1.DataObject) bool { return string(d.Data.Raw) == value }))
}

// errors checks that errors do not contain values of imports, which requires reading them.
func (s *scene) errors() {
	s.clusters()
	s.Create(testkit.DataObject(s.Namespace, "word", "w").Build(), s.secret("login", "password", "s3cretword"))
	s.Create(s.importing("poor", `
subinstallations:
- apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: InstallationTemplate
  name: inner
  imports: {data: [{name: word, dataRef: word}], targets: [{name: cluster, target: cluster}]}
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        imports: [{name: word, `+text+`}, {name: cluster, `+target+`}]
        deployExecutions: [{name: default, type: GoTemplate, template: "deployItems: {{ .nothing.at.all }}"}]
`).Reconcile().Build())
	s.finished("poor", lsv1alpha1.PhaseFailed)

	items := "deployExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    deployItems:\n"
	for _, kind := range []string{"mock", "kubernetes-manifest", "helm", "container"} {
		items += "    - {name: " + kind + ", type: landscaper.gardener.cloud/" + kind + ", target: {name: nowhere}, config: {" + mockConfig + "}}\n"
	}
	s.Create(s.importing("lost", items).Reconcile().Build())
	for _, item := range s.items("lost", 4) {
		testkit.Eventually(s.T, s.APIServer, item, testkit.Is("waiting for its Target", func(i *lsv1alpha1.DeployItem) bool {
			return i.Status.Phase == lsv1alpha1.PhaseProgressing || i.Status.Phase == lsv1alpha1.PhaseInit
		}))
	}
	s.removed(s.installation("lost"))
}

// importing returns an installation that imports a value, a Secret and a Target.
func (s *scene) importing(name, blueprint string) *testkit.InstallationBuilder {
	imports := "imports: [{name: word, " + text + "}, {name: password, " + text + "}, {name: cluster, " + target + "}]\n"
	return testkit.Installation(s.Namespace, name).Blueprint(header+imports+blueprint).
		ImportData("word", "word").ImportSecret("password", "login", "password").ImportTarget("cluster", "cluster")
}

// items waits until an execution has the given number of deploy items, and returns them.
func (s *scene) items(execution string, number int) []*lsv1alpha1.DeployItem {
	s.Helper()
	mine := client.MatchingLabels{lsv1alpha1.ExecutionManagedByLabel: execution}
	watcher, err := s.Client().Watch(s.Context(), &lsv1alpha1.DeployItemList{}, client.InNamespace(s.Namespace), mine)
	if err != nil {
		s.Fatal(err)
	}
	defer watcher.Stop()
	var items []*lsv1alpha1.DeployItem
	for event := range watcher.ResultChan() {
		if item, ok := event.Object.(*lsv1alpha1.DeployItem); ok && event.Type == watch.Added {
			items = append(items, item)
		}
		if len(items) == number {
			break
		}
	}
	return items
}
