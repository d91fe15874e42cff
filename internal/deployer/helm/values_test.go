// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/testkit"
)

const withSchema = oneConfigMap + `
-- values.schema.json --
{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"replicas": {"type": "integer"}, "key": {"type": "string", "pattern": "^[a-z]+$"}}}
`

func TestValuesAreCheckedAgainstTheSchema(t *testing.T) {
	for mode, reason := range map[string]string{"true": "installRelease", "false": "RenderChart"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(withSchema)
			const wrong = "values: {replicas: 3, key: Secret-Value-42}"
			_, err := w.deploy("{helmDeployment: " + mode + ", " + wrong + "}")
			assertFailure(t, err, failed{
				reason: reason, terminal: true, codes: []string{"ERR_CONFIGURATION_PROBLEM"}, contains: []string{"key"}, without: []string{"Secret-Value-42"},
			})
			w.succeed("{helmDeployment: " + mode + ", helmDeploymentConfig: {install: {skipSchemaValidation: true}}, " + wrong + "}")
			w.succeed("{helmDeployment: " + mode + ", values: {replicas: 3, key: fine}}")
			if diff := cmp.Diff([]string{"one=fine"}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A schema that refers to files or addresses must not make this process read them.
func TestASchemaLeadsNowhere(t *testing.T) {
	for _, ref := range []string{"file:///etc/hostname", "http://127.0.0.1:1/schema.json", "https://169.254.169.254/latest"} {
		w := newWorld(t)
		w.use(oneConfigMap + "\n-- values.schema.json --\n{\"$ref\": \"" + ref + "\"}\n")
		_, err := w.deploy("")
		assertFailure(t, err, failed{reason: "installRelease", terminal: true, contains: []string{ref}})
	}
}

const secretValue = "correct-horse-battery"

// Errors and the status do not show values, whatever a chart does with them.
func TestValuesAreNotShown(t *testing.T) {
	for name, template := range map[string]string{
		"fail":             `{{ fail (printf "the password is %s" .Values.password) }}`,
		"required":         `{{ required .Values.password .Values.missing }}`,
		"no YAML":          "{{ .Values.password }}: [",
		"encoded":          `{{ fail (b64enc .Values.password) }}`,
		"bad number":       `{{ fail (printf "%v" (int .Values.password)) }}{{ mustToDate "2006" .Values.password }}`,
		"invalid object":   "{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: {{ .Values.password }}, ports: [{port: 1}]}}",
		"invalid name":     "{apiVersion: v1, kind: ConfigMap, metadata: {name: \"{{ .Values.password }}_\"}}",
		"unknown kind":     "{apiVersion: v1, kind: \"{{ .Values.password }}\", metadata: {name: x}}",
		"refused secret":   "{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {a: \"{{ .Values.password }}!\"}}",
		"wrong type":       "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: [\"{{ .Values.password }}\"]}",
		"table over value": `{{ fail "later" }}`,
	} {
		for _, mode := range []string{"true", "false"} {
			t.Run(name+", helmDeployment "+mode, func(t *testing.T) {
				w := newWorld(t)
				w.use("\n-- values.yaml --\ntable: {a: b}\n-- templates/one.yaml --\n" + template + "\n")
				_, err := w.deploy("{helmDeployment: " + mode + ", values: {password: " + secretValue + ", table: " + secretValue + "}}")
				if err == nil {
					t.Fatal("there is no error")
				}
				if strings.Contains(err.Error(), secretValue) || strings.Contains(err.Error(), "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5") {
					t.Errorf("the error shows the value: %v", err)
				}
				if raw := w.item.Status.ProviderStatus; raw != nil && strings.Contains(string(raw.Raw), secretValue) {
					t.Errorf("the status shows the value: %s", raw.Raw)
				}
			})
		}
	}
}

func TestExports(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(twoConfigMaps)
			progress := w.succeed(`
helmDeployment: ` + mode + `
values: {key: exported, deep: {er: [1, 2]}}
exportsFromManifests:
- {key: fromObject, jsonPath: data.key, fromResource: {apiVersion: v1, kind: ConfigMap, name: one, namespace: NAMESPACE}}
exports:
  exports:
  - {key: shop.value, jsonPath: .Values.deep}
  - {key: shop.chart, jsonPath: .Chart.Version}
  - {key: shop.release, jsonPath: .Release.Name}
  - {key: second, jsonPath: .data.key, fromResource: {apiVersion: v1, kind: ConfigMap, name: two, namespace: NAMESPACE}}
`)
			want := map[string]any{
				"fromObject": "exported", "second": "second",
				"shop": map[string]any{"value": map[string]any{"er": []any{1.0, 2.0}}, "chart": "1.0.0", "release": "shop"},
			}
			if diff := cmp.Diff(want, progress.Exports); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A missing value will not appear later, so nothing is deployed.
func TestAMissingValueToExportFailsBeforeAnythingIsDeployed(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	_, err := w.deploy("exports: {exports: [{key: x, jsonPath: .Values.nothing}]}")
	assertFailure(t, err, failed{reason: "InvalidExport", terminal: true, codes: []string{"ERR_CONFIGURATION_PROBLEM"}, contains: []string{"export x", ".Values.nothing"}})
	if diff := cmp.Diff([]string{}, w.history("shop")); diff != "" {
		t.Error(diff)
	}
}

func TestReadinessIsAwaited(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(webDeployment)
			w.configure(`
helmDeployment: ` + mode + `
readinessChecks:
  custom:
  - name: later
    resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: later, namespace: NAMESPACE}]
    requirements: [{jsonPath: .data.key, operator: "=", values: [{value: ready}]}]
`)
			if err := w.start(); err != nil {
				t.Fatal(err)
			}
			progress, err := w.pass()
			if err != nil || progress.Waiting.Code != cluster.WaitingForReadiness {
				t.Fatalf("%+v, %v", progress, err)
			}
			if diff := cmp.Diff([]string{"Deployment/web"}, w.managed()); diff != "" {
				t.Error(diff)
			}
			_, err = w.goOnAfter(func() {
				w.foreign("later", map[string]string{"key": "ready"})
				w.makeReady("web")
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Without the default checks, an unready Deployment delays nothing; the item's own checks and exports do, in both modes. An item that
// never gets ready can be deleted.
func TestTheItemsOwnChecksAndExportsAreAwaited(t *testing.T) {
	for _, mode := range []string{"true", "false"} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(webDeployment + `
-- templates/account.yaml --
{apiVersion: v1, kind: ServiceAccount, metadata: {name: account}, imagePullSecrets: [{name: later}]}
`)
			w.configure(`
helmDeployment: ` + mode + `
readinessChecks:
  disableDefault: true
  custom:
  - name: door
    labelSelector: {apiVersion: v1, kind: ConfigMap, matchLabels: {door: NAMESPACE}}
    requirements: [{jsonPath: .data.key, operator: in, values: [{value: open}, {value: ajar}]}]
exportsFromManifests:
- {key: state, jsonPath: .data.key, fromResource: {apiVersion: v1, kind: ConfigMap, name: door, namespace: NAMESPACE}}
exports:
  exports:
  - key: password
    jsonPath: .imagePullSecrets[0]
    fromResource: {apiVersion: v1, kind: ServiceAccount, name: account, namespace: NAMESPACE}
    fromObjectRef: {apiVersion: v1, kind: Secret, jsonPath: .data.password}
`)
			if err := w.start(); err != nil {
				t.Fatal(err)
			}
			w.waits(cluster.WaitingForCheck, "readiness check door: no object has the labels")
			w.foreign("door", map[string]string{"key": "closed"})
			w.change("door", func(door *corev1.ConfigMap) { door.Labels = map[string]string{"door": w.namespace} })
			w.waits(cluster.WaitingForCheck, "ConfigMap "+w.namespace+"/door: readiness check door: .data.key")
			w.change("door", func(door *corev1.ConfigMap) { door.Data["key"] = "ajar" })
			w.waits(cluster.WaitingForExport, "export password")
			progress, err := w.goOnAfter(func() {
				secret := &corev1.Secret{StringData: map[string]string{"password": "hunter2"}}
				secret.Namespace, secret.Name = w.namespace, "later"
				testkit.Create(t, w.server, secret)
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{"state": "ajar", "password": "aHVudGVyMg=="}, progress.Exports); diff != "" {
				t.Error(diff)
			}
			w.change("door", func(door *corev1.ConfigMap) { door.Data["key"] = "closed" })
			if err := w.start(); err != nil {
				t.Fatal(err)
			}
			w.waits(cluster.WaitingForCheck, "door")
			w.delete()
			if diff := cmp.Diff([]string{"door=closed"}, w.content()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// waits calls the deployer and checks what it waits for.
func (w *world) waits(code, message string) {
	w.t.Helper()
	progress, err := w.pass()
	if err != nil || progress.Done || progress.Waiting.Code != code || !strings.Contains(progress.Waiting.Message, message) {
		w.t.Fatalf("it waits for %+v instead of %s %q: %v", progress.Waiting, code, message, err)
	}
}

func (w *world) change(name string, change func(*corev1.ConfigMap)) {
	w.t.Helper()
	object := w.configMap(name)
	change(object)
	if err := w.server.Client().Update(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// A release counts its revisions. A template is rendered as an installation, each time. Exports contain what the templates see, even of a
// revision that an earlier job created.
func TestWhatTemplatesSeeOfTheRelease(t *testing.T) {
	type seen struct {
		revision float64
		upgrade  bool
	}
	for mode, want := range map[string][]seen{
		"true":  {{1, false}, {2, true}, {2, true}},
		"false": {{0, false}, {0, false}, {0, false}},
	} {
		t.Run("helmDeployment "+mode, func(t *testing.T) {
			w := newWorld(t)
			w.use(`
-- templates/one.yaml --
{{- with .Release }}
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Name }}"}
data: {key: "{{ .Revision }} {{ .IsInstall }} {{ .IsUpgrade }} {{ .Service }} {{ .Namespace }} {{ $.Values.job }}"}
{{- end }}
`)
			for i, job := range []string{"a", "b", "b"} {
				progress := w.succeed("{helmDeployment: " + mode + ", values: {job: " + job + "}, exports: {exports: [{key: seen, jsonPath: .Release}]}}")
				now := want[i]
				text := fmt.Sprint("shop=", now.revision, " ", !now.upgrade, " ", now.upgrade, " Helm ", w.namespace, " ", job)
				if diff := cmp.Diff([]string{text}, w.content()); diff != "" {
					t.Errorf("job %d: %s", i, diff)
				}
				release := map[string]any{
					"Name": "shop", "Namespace": w.namespace, "Service": "Helm",
					"Revision": now.revision, "IsInstall": !now.upgrade, "IsUpgrade": now.upgrade,
				}
				if diff := cmp.Diff(map[string]any{"seen": release}, progress.Exports); diff != "" {
					t.Errorf("job %d: %s", i, diff)
				}
			}
		})
	}
}
