// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/testkit"
)

// path is a way in which a value of a Secret can get into an error. The at sign stands for the value.
type path struct {
	// blueprint is what the blueprint does with the import "secret".
	blueprint string
	// spec is the rest of the installation's spec, beside its imports and its blueprint.
	spec string
	// item reports that the deploy item, and not the installation, shows the error first.
	item bool
	// continuous reports that the installation is in the continuous flow.
	continuous bool
	// want is what the message must nevertheless contain: users must be able to find the mistake.
	want string
}

func deployItem(fields string) string {
	return "deployExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    deployItems:\n    - {" + fields + "}\n"
}

const mockConfig = "config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration}"

func mock(fields string) string {
	return deployItem("type: landscaper.gardener.cloud/mock, " + mockConfig + ", " + fields)
}

func manifests(config string) string {
	return deployItem("name: one, type: landscaper.gardener.cloud/kubernetes-manifest, target: {import: cluster}, " +
		"config: {apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2, kind: ProviderConfiguration, " + config + "}")
}

// object deploys one object with the given rest of its metadata and content.
func object(head, metadata, content string) string {
	return manifests("manifests: [{manifest: {" + head + ", metadata: {namespace: NAMESPACE, " + metadata + "}, " + content + "}}]")
}

const (
	configMap = "apiVersion: v1, kind: ConfigMap"
	named     = "name: refused"
	pod       = "containers: [{name: c, image: i}]"
)

func deployment(spec string) string {
	return object("apiVersion: apps/v1, kind: Deployment", named, "spec: {"+spec+"}")
}

func nested(fields string) string {
	return "subinstallationExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    subinstallations:\n    - {apiVersion: landscaper.gardener.cloud/v1alpha1, kind: InstallationTemplate, " + fields + "}\n"
}

const emptyBlueprint = `blueprint: {filesystem: {blueprint.yaml: "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"}}`

func template(text string) string {
	return "deployExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}

func spiff(text string) string {
	return "deployExecutions:\n- name: default\n  type: Spiff\n  template:\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}

// paths are the fields that a template can fill, and the ways in which it can fail.
var paths = map[string]path{
	"item-name": {blueprint: mock(`name: "@"`), want: "name"},
	"item-name-twice": {
		blueprint: deployItem("name: '@', type: x, " + mockConfig + "}\n    - {name: '@', type: x, " + mockConfig),
		want:      "deploy items",
	},
	"item-depends-on":    {blueprint: mock(`name: one, dependsOn: ["@"]`), want: "deploy items"},
	"item-timeout":       {blueprint: mock(`name: one, timeout: "@"`), want: "timeout"},
	"item-label":         {blueprint: mock(`name: one, labels: {key: "@"}`), want: "label"},
	"item-label-key":     {blueprint: mock(`name: one, labels: {"@ !": x}`), want: "label"},
	"item-target-import": {blueprint: mock(`name: one, target: {import: "@"}`), want: "target"},
	"item-target-name":   {blueprint: mock(`name: one, target: {name: "@"}`), item: true, want: "Target"},
	"item-target-ns":     {blueprint: mock(`name: one, target: {name: x, namespace: "@"}`), want: "namespace"},
	"item-config":        {blueprint: deployItem(`name: one, type: landscaper.gardener.cloud/mock, config: "@"`), want: "config"},
	"item-config-kind": {
		blueprint: deployItem(
			`name: one, type: landscaper.gardener.cloud/kubernetes-manifest, target: {import: cluster}, config: {apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2, kind: "K@"}`,
		),
		want: "kind",
	},
	"item-config-version": {
		blueprint: deployItem(
			`name: one, type: landscaper.gardener.cloud/kubernetes-manifest, target: {import: cluster}, config: {apiVersion: "x/@", kind: ProviderConfiguration}`,
		),
		want: "apiVersion",
	},
	"item-type":            {blueprint: deployItem(`name: one, type: "@", ` + mockConfig), want: "type"},
	"item-of-another-type": {blueprint: template("deployItems: '@'"), want: "deployItems"},
	"item-number":          {blueprint: mock(`name: one, updateOnChangeOnly: "@"`), want: "updateOnChangeOnly"},

	"strategy":      {blueprint: manifests(`updateStrategy: "@"`), want: "updateStrategy"},
	"unknown-field": {blueprint: manifests(`"@": x`), want: "unknown field"},
	"policy": {
		blueprint: manifests(
			`manifests: [{policy: "@", manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NAMESPACE}}}]`,
		),
		want: "policy",
	},
	"patch-after": {
		blueprint: manifests(
			`manifests: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: patched, namespace: NAMESPACE}}, patchAfterDeployment: {data: {"@ /": "@"}}}]`,
		),
		want: "data",
	},
	"repair-cron":  {blueprint: manifests(`continuousReconcile: {cron: "@"}`), want: "continuousReconcile"},
	"repair-every": {blueprint: manifests(`continuousReconcile: {every: "@"}`), want: "config"},
	"check-path": {
		blueprint: manifests(
			`readinessChecks: {custom: [{name: x, resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: x}], requirements: [{jsonPath: ".[@", operator: exists}]}]}`,
		),
		want: "jsonPath",
	},
	"check-operator": {
		blueprint: manifests(
			`readinessChecks: {custom: [{name: x, resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: x}], requirements: [{jsonPath: .a, operator: "@"}]}]}`,
		),
		want: "operator",
	},
	"check-object": {
		blueprint: manifests(
			`readinessChecks: {custom: [{name: "@", resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: missing, namespace: NAMESPACE}], requirements: [{jsonPath: .a, operator: exists}]}]}`,
		),
		item: true,
		want: "readiness check",
	},
	"export-path": {
		blueprint: manifests(`exports: {exports: [{key: x, jsonPath: ".[@", fromResource: {apiVersion: v1, kind: ConfigMap, name: x}}]}`),
		want:      "jsonPath",
	},
	"export-key": {
		blueprint: manifests(
			`exports: {exports: [{key: "@", jsonPath: .data, fromResource: {apiVersion: v1, kind: ConfigMap, name: missing, namespace: NAMESPACE}}]}`,
		),
		item: true,
		want: "export",
	},
	"deletion-group": {blueprint: manifests(`deletionGroups: [{predefinedResourceGroup: {type: "@"}}]`), want: "deletionGroups"},
	"object-kind":    {blueprint: object(`apiVersion: v1, kind: "@"`, named, "data: {}"), want: "kind"},
	"object-version": {blueprint: object(`apiVersion: "a/b/@", kind: ConfigMap`, named, "data: {}"), want: "apiVersion"},
	"object-name":    {blueprint: object(configMap, `name: "@"`, "data: {}"), want: "metadata.name"},
	"object-namespace": {
		blueprint: manifests(`manifests: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "@"}}}]`),
		want:      "metadata.namespace",
	},
	"object-label":      {blueprint: object(configMap, named+`, labels: {a: "@ /"}`, "data: {}"), want: "metadata.labels"},
	"object-label-key":  {blueprint: object(configMap, named+`, labels: {"@ /": a}`, "data: {}"), want: "metadata.labels"},
	"object-annotation": {blueprint: object(configMap, named+`, annotations: {"@ /": a}`, "data: {}"), want: "metadata.annotations"},
	"object-finalizer":  {blueprint: object(configMap, named+`, finalizers: ["@ /"]`, "data: {}"), want: "finalizers"},
	"object-owner": {
		blueprint: object(configMap, named+`, ownerReferences: [{apiVersion: "a/b/@", kind: "@", name: "@", uid: "@"}]`, "data: {}"),
		want:      "ownerReferences",
	},
	"object-data-key":  {blueprint: object(configMap, named, `data: {"@ /": x}`), want: "data"},
	"object-data-type": {blueprint: object(configMap, named, `data: {x: {"@": 1}}`), want: "ConfigMap"},
	"object-secret-type": {
		blueprint: object("apiVersion: v1, kind: Secret", named, `type: kubernetes.io/tls, stringData: {"@ /": "@"}`),
		want:      "Secret",
	},
	"object-secret-data": {blueprint: object("apiVersion: v1, kind: Secret", named, `data: {x: "@!"}`), want: "Secret"},
	"cronjob-schedule": {
		blueprint: object(
			"apiVersion: batch/v1, kind: CronJob",
			named,
			`spec: {schedule: "@", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, `+pod+`}}}}}`,
		),
		want: "spec.schedule",
	},
	"cronjob-time-zone": {
		blueprint: object(
			"apiVersion: batch/v1, kind: CronJob",
			named,
			`spec: {schedule: "* * * * *", timeZone: "@", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, `+pod+`}}}}}`,
		),
		want: "spec.timeZone",
	},
	"restart-policy": {
		blueprint: object("apiVersion: batch/v1, kind: Job", named, `spec: {template: {spec: {restartPolicy: "@", `+pod+`}}}`),
		want:      "restartPolicy",
	},
	"replicas": {blueprint: deployment(`replicas: "@"`), want: "replicas"},
	"selector": {
		blueprint: deployment(`selector: {matchLabels: {a: "@ /"}}, template: {metadata: {labels: {a: b}}, spec: {` + pod + `}}`),
		want:      "selector",
	},
	"container-name": {
		blueprint: deployment(
			`selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: "@", image: i}]}}`,
		),
		want: "containers[0].name",
	},
	"container-twice": {
		blueprint: deployment(
			`selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: "@", image: i}, {name: "@", image: i}]}}`,
		),
		want: "containers",
	},
	"pull-policy": {
		blueprint: deployment(
			`selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, imagePullPolicy: "@"}]}}`,
		),
		want: "imagePullPolicy",
	},
	"env-name": {
		blueprint: deployment(
			`selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, env: [{name: "=@", value: x}]}]}}`,
		),
		want: "env",
	},
	"volume-mount": {
		blueprint: deployment(
			`selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, volumeMounts: [{name: "@", mountPath: /a}]}]}}`,
		),
		want: "volumeMounts",
	},
	"quantity": {
		blueprint: deployment(
			`selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: "@"}}}]}}`,
		),
		want: "Deployment",
	},
	"service-port": {
		blueprint: object("apiVersion: v1, kind: Service", named, `spec: {ports: [{port: 1, targetPort: "@"}]}`),
		want:      "targetPort",
	},
	"service-type": {
		blueprint: object("apiVersion: v1, kind: Service", named, `spec: {type: "@", ports: [{port: 1}]}`),
		want:      "spec.type",
	},
	"service-ip": {
		blueprint: object("apiVersion: v1, kind: Service", named, `spec: {clusterIP: "@", ports: [{port: 1}]}`),
		want:      "clusterIP",
	},
	"ingress-host": {
		blueprint: object("apiVersion: networking.k8s.io/v1, kind: Ingress", named, `spec: {rules: [{host: "@"}]}`),
		want:      "host",
	},
	"role-verb": {
		blueprint: object(
			"apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding",
			named,
			`roleRef: {apiGroup: rbac.authorization.k8s.io, kind: "@", name: "@"}`,
		),
		want: "roleRef",
	},
	"custom-resource": {
		blueprint: object("apiVersion: landscaper.gardener.cloud/v1alpha1, kind: DeployItem", named, `spec: {type: x, timeout: "@"}`),
		want:      "timeout",
	},
	"time": {
		blueprint: object("apiVersion: coordination.k8s.io/v1, kind: Lease", named, `spec: {renewTime: "@"}`),
		want:      "Lease",
	},
	"lease-number": {
		blueprint: object("apiVersion: coordination.k8s.io/v1, kind: Lease", named, `spec: {leaseDurationSeconds: "@"}`),
		want:      "Lease",
	},

	"nested-name": {blueprint: nested(`name: "@", ` + emptyBlueprint), want: "name"},
	"nested-data-ref": {
		blueprint: nested(`name: sub, imports: {data: [{name: a, dataRef: "@"}]}, ` + emptyBlueprint),
		want:      "imports.data[0].dataRef",
	},
	"nested-target": {
		blueprint: nested(`name: sub, imports: {targets: [{name: a, target: "@"}]}, ` + emptyBlueprint),
		want:      "imports.targets[0]",
	},
	"nested-target-list": {
		blueprint: nested(`name: sub, imports: {targets: [{name: a, targetListRef: "@"}]}, ` + emptyBlueprint),
		want:      "targetListRef",
	},
	"nested-target-key": {
		blueprint: nested(`name: sub, imports: {targets: [{name: a, targetMap: {"@": cluster}}]}, ` + emptyBlueprint),
		want:      "targetMap",
	},
	"nested-import-twice": {
		blueprint: nested(`name: sub, imports: {data: [{name: "@", dataRef: secret}, {name: "@", dataRef: secret}]}, ` + emptyBlueprint),
		want:      "imports.data[1].name",
	},
	"nested-export": {
		blueprint: nested(`name: sub, exports: {data: [{name: a, dataRef: "@ /"}]}, ` + emptyBlueprint),
		want:      "exports.data[0]",
	},
	"nested-mapping": {
		blueprint: nested("name: sub, importDataMappings: {other: '@'}, blueprint: {filesystem: {blueprint.yaml: " +
			quoted("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nimports: [{name: other, type: data, schema: {type: integer}}]\n") + "}}"),
		want: "other",
	},
	"nested-blueprint":      {blueprint: nested(`name: sub, blueprint: {ref: "cd://@"}`), want: "blueprint"},
	"nested-blueprint-text": {blueprint: nested(`name: sub, blueprint: {filesystem: {blueprint.yaml: "@: ["}}`), want: "blueprint"},
	"nested-of-wrong-type":  {blueprint: nested(`name: sub, imports: "@", ` + emptyBlueprint), want: "subinstallations"},

	"template-fails":     {blueprint: template(`deployItems: {{ fail .imports.secret }}`), want: "fail"},
	"template-index":     {blueprint: template(`deployItems: {{ index .imports .imports.secret "x" }}`), want: "index"},
	"template-number":    {blueprint: template(`deployItems: {{ div 1 .imports.secret }}`), want: "div"},
	"template-yaml":      {blueprint: template(`deployItems: [ "@`), want: "template"},
	"template-no-object": {blueprint: template("\"@\""), want: "deployExecutions[0]"},
	"template-file":      {blueprint: template(`deployItems: {{ getResource .cd "name" .imports.secret }}`), want: "getResource"},
	"spiff-error":        {blueprint: spiff(`deployItems: (( error("bad ", imports.secret) ))`), want: "deployItems"},
	"spiff-unresolved":   {blueprint: spiff(`deployItems: (( imports[imports.secret] ))`), want: "deployItems"},
	"spiff-operation":    {blueprint: spiff(`deployItems: (( 1 + imports.secret ))`), want: "deployItems"},
	"imports-rejected": {
		blueprint: "importExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    errors: [\"bad: @\"]\n",
		want:      "rejects the imports",
	},
	"schema-pattern": {
		blueprint: "imports:\n- {name: secret, type: data, schema: {type: string, pattern: '^x$'}}\n- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}\n",
		want:      "secret",
	},
	"schema-enum": {
		blueprint: "imports:\n- {name: secret, type: data, schema: {enum: [a, b]}}\n- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}\n",
		want:      "secret",
	},
	"schema-type": {
		blueprint: "imports:\n- {name: secret, type: data, schema: {type: integer}}\n- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}\n",
		want:      "secret",
	},
	"mapping": {
		spec:      "importDataMappings: {other: '(( error(secret) ))'}",
		blueprint: "imports: [{name: other, type: data, schema: {}}]\n",
		want:      "other",
	},
	"export-schema": {
		spec:      "exports: {data: [{name: out, dataRef: INSTALLATION}]}",
		blueprint: "exports: [{name: out, type: data, schema: {type: integer}}]\nexportExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    exports: {out: \"@\"}\n",
		want:      "out",
	},
	"export-target-label": {
		spec:      "exports: {targets: [{name: out, target: INSTALLATION}]}",
		blueprint: "exports: [{name: out, type: target, targetType: example.com/any}]\nexportExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    exports: {out: {type: example.com/any, labels: {a: \"@ /\"}, config: {}}}\n",
		want:      "out",
	},
	"export-target-type": {
		spec:      "exports: {targets: [{name: out, target: INSTALLATION}]}",
		blueprint: "exports: [{name: out, type: target, targetType: example.com/any}]\nexportExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    exports: {out: {type: \"@\", config: {}}}\n",
		want:      "out",
	},
	"export-fails": {
		spec:      "exports: {data: [{name: out, dataRef: INSTALLATION}]}",
		blueprint: "exports: [{name: out, type: data, schema: {}}]\nexportExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    exports: {out: {{ fail .imports.secret }}}\n",
		want:      "fail",
	},
	"encoded": {blueprint: mock(`name: one, dependsOn: ["{{ .imports.secret | b64enc }}"]`), want: "deploy items"},
	"encoded-with-another": {
		blueprint: mock(`name: one, dependsOn: ["{{ printf "user:%s" .imports.secret | b64enc }}"]`),
		want:      "deploy items",
	},
	"credentials": {
		blueprint: mock(`name: one, dependsOn: [{{ .imports.cluster.spec.config.kubeconfig | toJson }}]`),
		want:      "deploy items",
	},
	"in-capitals": {blueprint: mock(`name: one, dependsOn: ["{{ .imports.secret | upper }}"]`), want: "deploy items"},
}

// inBothFlows are paths through code that differs in the continuous flow.
var inBothFlows = []string{
	"schema-pattern", "mapping", "template-fails", "item-name-twice", "item-depends-on", "nested-name", "restart-policy", "chart-fails", "check-object",
	"export-key", "export-schema", "export-fails", "container-says",
}

// everyPath returns all paths by the names of installations.
func everyPath() map[string]path {
	all := maps.Clone(paths)
	for _, name := range inBothFlows {
		p := paths[name]
		p.continuous = true
		all[name+"-flow"] = p
	}
	return all
}

// inputs are the imports of every installation, unless its blueprint has its own.
const inputs = `imports:
- {name: secret, type: data, schema: {type: string}}
- {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
`

func (p path) installation(w *world, name string) string {
	blueprint := p.blueprint
	if !strings.HasPrefix(blueprint, "imports:") {
		blueprint = inputs + blueprint
	}
	blueprint = strings.NewReplacer("@", "{{ .imports.secret }}", "NAMESPACE", w.Namespace).Replace(blueprint)
	flow, request := lsv1alpha1.FlowJob, "landscaper.gardener.cloud/operation: reconcile"
	if p.continuous {
		flow, request = lsv1alpha1.FlowContinuous, ""
	}
	return fmt.Sprintf(`
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {name: %[1]s, annotations: {%[5]s}}
spec:
  flow: %[4]s
  imports:
    data: [{name: secret, secretRef: {name: %[1]s, key: value}}]
    targets: [{name: cluster, target: cluster}]
  %[2]s
  blueprint: {inline: {filesystem: {blueprint.yaml: %[3]s}}}
`, name, strings.ReplaceAll(p.spec, "INSTALLATION", "out-of-"+name),
		quoted("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"+blueprint), flow, request)
}

func quoted(text string) string {
	result, err := json.Marshal(text)
	if err != nil {
		return err.Error()
	}
	return string(result)
}

func (w *world) create(manifests ...string) {
	w.Helper()
	for _, text := range manifests {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			w.Fatalf("%v in:\n%s", err, text)
		}
		object.SetNamespace(w.Namespace)
		if err := w.Client().Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) secret(name, value string) {
	w.Helper()
	w.create(fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: {value: %s}", name, quoted(value)))
}

func (w *world) target(name, kubeconfig string) {
	w.Helper()
	w.create(fmt.Sprintf("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Target\nmetadata: {name: %s}\n"+
		"spec: {type: landscaper.gardener.cloud/kubernetes-cluster, config: {kubeconfig: %s}}", name, quoted(kubeconfig)))
}

// told waits until the object shows an error to its readers, and returns it.
func (w *world) told(t *testing.T, name string, item bool) string {
	t.Helper()
	if !item {
		inst := &lsv1alpha1.Installation{}
		inst.Namespace, inst.Name = w.Namespace, name
		failed := testkit.Eventually(t, w.APIServer, inst, testkit.Is("failed", func(i *lsv1alpha1.Installation) bool {
			return i.Status.LastError != nil || i.Status.Phase == lsv1alpha1.PhaseSucceeded
		}))
		if failed.Status.LastError == nil {
			t.Fatal("nothing went wrong")
		}
		return failed.Status.LastError.Message
	}
	deployItem := testkit.DeployItem(w.Namespace, execution.ItemName(name, "one")).Build()
	message := func(i *lsv1alpha1.DeployItem) string {
		if i.Status.LastError != nil {
			return i.Status.LastError.Message
		}
		for _, condition := range i.Status.Conditions {
			if condition.Type == lsv1alpha1.ConditionReady && strings.HasPrefix(condition.Reason, "Waiting") ||
				condition.Reason == lsv1alpha1.ReasonNoTargetFound {
				return condition.Message
			}
		}
		return ""
	}
	return message(
		testkit.Eventually(t, w.APIServer, deployItem, testkit.Is("told", func(i *lsv1alpha1.DeployItem) bool { return message(i) != "" })),
	)
}

// quiet waits until nothing more is reported.
func (w *world) quiet() {
	w.Helper()
	recorder := testkit.Record(w.T, w.APIServer, w.Namespace, testkit.Kinds(&corev1.Event{}, &eventsv1.Event{}, &lsv1alpha1.Installation{}))
	recorder.Quiet(w.T, 3*time.Second)
}

func TestNoErrorShowsTheValueOfAnImportedSecret(t *testing.T) {
	w := newWorld(t)
	w.plays()
	w.target("cluster", w.kubeconfig)
	canaries := map[string]string{"the Target": w.credential()}
	all := everyPath()
	for name, p := range all {
		canaries[name] = canaryOf(len(canaries))
		w.secret(name, canaries[name])
		w.create(p.installation(w, name))
	}
	t.Run("what is told", func(t *testing.T) {
		for name, p := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if message := w.told(t, name, p.item); !strings.Contains(message, p.want) {
					t.Errorf("the message does not say %q: %s", p.want, message)
				}
			})
		}
	})
	w.quiet()
	w.wantNone(canaries)
}

// Errors do not quote a value that is too short to be masked everywhere.
func TestShortValuesAreNotQuoted(t *testing.T) {
	w := newWorld(t)
	w.target("cluster", w.kubeconfig)
	for _, name := range []string{"item-timeout", "item-depends-on", "strategy", "cronjob-schedule", "container-twice", "pull-policy", "policy"} {
		w.secret(name, "q7")
		w.create(paths[name].installation(w, name))
		message := w.told(t, name, false)
		if strings.Contains(message, "q7") || !strings.Contains(message, paths[name].want) {
			t.Errorf("%s: %s", name, message)
		}
	}
}

// Imports that a nested installation gets from its parent, and a sibling from another, stay secret.
func TestSecretsStaySecretOnTheirWay(t *testing.T) {
	w := newWorld(t)
	w.target("cluster", w.kubeconfig)
	canaries := map[string]string{"parent": canaryOf(1), "exporter": canaryOf(2)}
	for name, canary := range canaries {
		w.secret(name, canary)
	}
	failing := inputs + strings.ReplaceAll(mock(`name: one, dependsOn: ["@"]`), "@", "{{ .imports.secret }}")
	child := fmt.Sprintf("subinstallations:\n- {apiVersion: landscaper.gardener.cloud/v1alpha1, kind: InstallationTemplate, name: sub, "+
		"imports: {data: [{name: secret, dataRef: secret}], targets: [{name: cluster, target: cluster}]}, blueprint: {filesystem: {blueprint.yaml: %s}}}\n",
		quoted("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"+failing))
	w.create(path{blueprint: child}.installation(w, "parent"))
	w.create(path{
		spec:      "exports: {data: [{name: passed, dataRef: passed}]}",
		blueprint: "exports: [{name: passed, type: data, schema: {}}]\nexportExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    exports: {passed: \"@\"}\n",
	}.installation(w, "exporter"))
	importer := path{blueprint: mock(`name: one, dependsOn: ["@"]`)}.installation(w, "importer")
	w.create(strings.Replace(importer, "secretRef: {name: importer, key: value}", "dataRef: passed", 1))
	w.told(t, "parent", false)
	w.told(t, "importer", false)
	w.quiet()
	w.wantNone(canaries)
}

// What comes from a Secret that has changed since the job is shown neither as it is nor as it will be, and what others say about it
// neither.
func TestNoPreviewShowsASecret(t *testing.T) {
	w := newWorld(t)
	w.target("cluster", w.kubeconfig)
	canaries := map[string]string{"the Target": w.credential(), "the former Secret": canaryOf(1), "the Secret": canaryOf(2)}
	w.secret("deployed", canaries["the former Secret"])
	shown := func(head, content string) string {
		return "{manifest: {" + head + ", metadata: {name: shown, namespace: NAMESPACE}, " + content + "}}"
	}
	objects := manifests("manifests: [" + shown(configMap, `data: {word: "a @ b"}`) + ", " +
		shown("apiVersion: v1, kind: Secret", `stringData: {word: "@"}`) + ", " +
		shown("apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease", `spec: {word: "@", "@": x}`) + "]")
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {word: {{ .Values.word | quote }}}\n"
	_, item, _ := strings.Cut(strings.Replace(chart("two", config, "", ""), "name: one", "name: two", 1), "deployItems:\n")
	w.create(path{blueprint: objects + item}.installation(w, "deployed"))
	testkit.EventuallyFinished(t, w.APIServer, testkit.Installation(w.Namespace, "deployed").Build(), lsv1alpha1.PhaseSucceeded)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "deployed"}}
	w.Patch(secret, fmt.Sprintf(`{"stringData":{"value":%s}}`, quoted(canaries["the Secret"])))
	release := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease"}}
	release.SetNamespace(w.Namespace)
	release.SetName("shown")
	w.SetStatus(release, map[string]any{"conditions": []any{map[string]any{
		"type": "Stalled", "status": "True", "reason": "Bad", "message": canaries["the former Secret"] + " is bad",
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}}})
	w.quiet()
	w.wantNone(canaries)
}

// credential returns the secret part of the test's own kubeconfig.
func (w *world) credential() string {
	w.Helper()
	var found string
	w.kubeconfigWith(func(_, user map[string]any) {
		for _, key := range []string{"token", "client-key-data"} {
			if text, ok := user[key].(string); ok {
				found = text
			}
		}
	})
	if found == "" {
		w.Fatal("the kubeconfig has no credential")
	}
	return found
}

// kubeconfigWith returns a changed kubeconfig of the test's own cluster.
func (w *world) kubeconfigWith(change func(cluster, user map[string]any)) string {
	w.Helper()
	var config map[string]any
	if err := yaml.Unmarshal([]byte(w.kubeconfig), &config); err != nil {
		w.Fatal(err)
	}
	part := func(list, key string) map[string]any {
		return config[list].([]any)[0].(map[string]any)[key].(map[string]any)
	}
	change(part("clusters", "cluster"), part("users", "user"))
	text, err := yaml.Marshal(config)
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

func TestNoErrorShowsWhatATargetContains(t *testing.T) {
	w := newWorld(t)
	talkative := httptest.NewTLSServer(gossip(false))
	t.Cleanup(talkative.Close)
	item := manifests("manifests: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NAMESPACE}}}]")
	canaries := map[string]string{}
	for name, change := range map[string]func(canary string, cluster, user map[string]any){
		"unknown-key":   func(canary string, _, user map[string]any) { user[canary] = "x" },
		"ordinary-key":  func(canary string, _, user map[string]any) { user[strings.Map(onlyLetters, canary)] = canary },
		"unknown-value": func(canary string, cluster, _ map[string]any) { cluster["proxy"] = canary },
		"exec":          func(canary string, _, user map[string]any) { user["exec"] = map[string]any{"command": canary} },
		"token":         func(canary string, _, user map[string]any) { clear(user); user["token"] = canary },
		"broken-token":  func(canary string, _, user map[string]any) { clear(user); user["token"] = canary + " x" },
		"password": func(canary string, _, user map[string]any) {
			clear(user)
			user["username"], user["password"] = "me", canary
		},
		"key": func(canary string, _, user map[string]any) { clear(user); user["client-key-data"] = canary },
		"login-in-server": func(canary string, cluster, _ map[string]any) {
			cluster["server"] = "https://me:" + canary + "@localhost"
		},
		"quoted-token": func(canary string, cluster, user map[string]any) {
			quotes(talkative, cluster)
			clear(user)
			user["token"] = canary
		},
	} {
		canary := canaryOf(len(canaries))
		canaries[name] = canary
		if name == "ordinary-key" {
			canaries["ordinary-key itself"] = strings.Map(onlyLetters, canary)
		}
		w.target(name, w.kubeconfigWith(func(cluster, user map[string]any) { change(canary, cluster, user) }))
		w.secret(name, "harmless-value")
		w.create(strings.Replace(path{blueprint: item}.installation(w, name), "target: cluster}", "target: "+name+"}", 1))
	}
	for name := range canaries {
		if !strings.Contains(name, " ") {
			w.told(t, name, true)
		}
	}
	w.quiet()
	w.wantNone(canaries)
}

// onlyLetters turns a value into a key that looks like any other key.
func onlyLetters(r rune) rune {
	if r == '_' || r == '+' {
		return 'x'
	}
	return r
}
