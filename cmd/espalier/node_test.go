// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build node

package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"espalier.dev/cmd/espalier/internal/nodetest"
	"espalier.dev/internal/archive"
)

// place is the namespace for the workloads of the tests, with the rights to create them.
const place = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {namespace: shop, name: deployer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shop-deployer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, namespace: shop, name: deployer}]
---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata: {namespace: shop, name: here}
spec:
  type: landscaper.gardener.cloud/kubernetes-cluster
  config: {selfConfig: {serviceAccount: {name: deployer}}}
`

// installation deploys one deploy item with the given type and configuration.
const installation = `
---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata: {namespace: shop, name: NAME}
spec:
  imports: {targets: [{name: cluster, target: here}]}
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          apiVersion: landscaper.gardener.cloud/v1alpha1
          kind: Blueprint
          imports:
            - {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
          deployExecutions:
            - name: all
              type: GoTemplate
              template: |
                deployItems:
                  - name: item
                    type: landscaper.gardener.cloud/TYPE
                    target: {import: cluster}
                    config: CONFIG
`

const workloads = `{apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2, kind: ProviderConfiguration, manifests: [` +
	`{policy: manage, manifest: {apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web}, spec: {` +
	`selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: IMAGE, ` +
	`args: [serve, hello], readinessProbe: {periodSeconds: 1, httpGet: {path: /, port: 8080}}}]}}}}},` +
	`{policy: manage, manifest: {apiVersion: v1, kind: Service, metadata: {namespace: shop, name: web}, spec: {` +
	`selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}}},` +
	`{policy: manage, manifest: {apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: ask}, spec: {template: {spec: {` +
	`restartPolicy: Never, containers: [{name: ask, image: IMAGE, args: [fetch, "http://web.shop"]}]}}}}}]}`

// chart has a Deployment, a Job before it, one after it that sends it a request, a generated password, and a test that does what the values
// say.
var chart = map[string]string{
	"Chart.yaml":  "{apiVersion: v2, name: store, version: 1.0.0, kubeVersion: \">=1.30.0-0\"}",
	"values.yaml": "{do: fetch, with: http://store}",
	"templates/all.yaml": `
apiVersion: batch/v1
kind: Job
metadata: {name: before, annotations: {helm.sh/hook: pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: IMAGE, args: [token]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: store}
spec:
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: store, image: IMAGE, args: [serve], readinessProbe: {periodSeconds: 1, httpGet: {path: /, port: 8080}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: store}
spec: {selector: {app: store}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: after, annotations: {helm.sh/hook: post-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: IMAGE, args: [fetch, "http://store"]}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: test, annotations: {helm.sh/hook: test}}
spec:
  restartPolicy: Never
  containers: [{name: main, image: IMAGE, args: ["{{ .Values.do }}", "{{ .Values.with }}", "{{ sha256sum .Values.with }}"]}]
---
apiVersion: v1
kind: Secret
metadata: {name: store}
stringData: {password: "{{ sha256sum .Values.with }}"}
`}

// chartConfig returns the configuration of a deploy item that installs the chart.
func chartConfig(t *testing.T, more string) string {
	t.Helper()
	files := archive.Files{}
	for name, text := range chart {
		files["store/"+name] = []byte(strings.ReplaceAll(text, "IMAGE", nodetest.WorkloadImage))
	}
	packed, err := archive.Tar(files)
	if err == nil {
		packed, err = archive.Gzip(packed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return `{apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, name: store, namespace: shop, ` +
		`chart: {archive: {raw: ` + base64.StdEncoding.EncodeToString(packed) + `}}` + more + `}`
}

// install writes an installation into the cluster, starts a job of it and waits until it finishes.
func (u user) install(t *testing.T, name, kind, config string) {
	t.Helper()
	u.write(t, name, kind, config)
	u.mustRun(t, "reconcile", name, "-n", "shop", "--wait", "--timeout", "10m")
}

// write writes an installation into the cluster.
func (u user) write(t *testing.T, name, kind, config string) {
	t.Helper()
	config = strings.ReplaceAll(config, "IMAGE", nodetest.WorkloadImage)
	text := strings.NewReplacer("NAME", name, "TYPE", kind, "CONFIG", config).Replace(place + installation)
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u.mustRun(t, "kubectl", "apply", "-f", file)
}

// Workloads that deployers report as ready have run on the real node.
func TestWorkloadsOnANode(t *testing.T) {
	u := newUser(t)
	t.Setenv("ESPALIER_NODE_PROGRAMS", nodetest.Programs(t))
	before := nodetest.Traces(t)
	image := filepath.Join(t.TempDir(), "workload.tar")
	if err := os.WriteFile(image, nodetest.WorkloadArchive(t), 0o600); err != nil {
		t.Fatal(err)
	}
	i := u.up(t, "--node", "--node-image", image, "--ui-addr", "")
	t.Cleanup(func() { _ = i.cmd.Process.Kill() })
	if !strings.Contains(i.facts["Node"], "ready") {
		t.Errorf("the summary says of the node: %s", i.facts["Node"])
	}
	t.Run("manifests", func(t *testing.T) {
		u.install(t, "manifests", "kubernetes-manifest", workloads)
		u.mustRun(t, "kubectl", "wait", "-n", "shop", "deployment/web", "--for=condition=Available", "--timeout=0s")
		u.mustRun(t, "kubectl", "wait", "-n", "shop", "job/ask", "--for=condition=Complete", "--timeout=0s")
		if log := u.mustRun(t, "kubectl", "logs", "-n", "shop", "job/ask"); !strings.Contains(log, "200 OK [hello]") {
			t.Errorf("the job says %q", log)
		}
	})
	t.Run("a chart with hooks", func(t *testing.T) { u.checkHooks(t) })
	t.Run("tests of a chart", func(t *testing.T) { u.checkChartTests(t) })
	i.stop(t, syscall.SIGTERM)
	nodetest.NothingLeft(t, before)

	again := u.up(t, "--ui-addr", "")
	t.Cleanup(func() { _ = again.cmd.Process.Kill() })
	if !strings.HasPrefix(again.facts["Node"], "none") {
		t.Errorf("without a node the summary says: %s", again.facts["Node"])
	}
	if nodes := u.mustRun(t, "kubectl", "get", "nodes", "-o", "name"); nodes != "" {
		t.Errorf("there still is %s", nodes)
	}
	again.stop(t, syscall.SIGTERM)
}

// checkHooks installs the chart. Its hooks run, and its test does not.
func (u user) checkHooks(t *testing.T) {
	t.Helper()
	u.install(t, "chart", "helm", chartConfig(t, ""))
	u.mustRun(t, "kubectl", "wait", "-n", "shop", "deployment/store", "--for=condition=Available", "--timeout=0s")
	u.mustRun(t, "kubectl", "wait", "-n", "shop", "job/before", "job/after", "--for=condition=Complete", "--timeout=0s")
	if pod := u.mustRun(t, "kubectl", "get", "pod", "test", "-n", "shop", "--ignore-not-found", "-o", "name"); pod != "" {
		t.Errorf("the installation has run %s", pod)
	}
}

// checkChartTests runs the test of the chart: first it succeeds, then it fails, and then it succeeds again.
func (u user) checkChartTests(t *testing.T) {
	t.Helper()
	const asking = `, helmDeploymentConfig: {install: {test: true}, upgrade: {test: true}}`
	u.install(t, "chart", "helm", chartConfig(t, asking))
	if log := u.mustRun(t, "kubectl", "logs", "-n", "shop", "pod/test"); !strings.Contains(log, "200 OK") {
		t.Errorf("the test says %q", log)
	}
	u.write(t, "chart", "helm", chartConfig(t, asking+`, values: {do: fail, with: s3cretword}`))
	code, out, errOut := u.run(t, "reconcile", "chart", "-n", "shop", "--wait", "--timeout", "10m")
	said := out + errOut + u.mustRun(t, "kubectl", "get", "deployitems", "-n", "shop", "-o", "jsonpath={.items[*].status.lastError.message}")
	for _, want := range []string{
		"the test Pod shop/test (store/templates/all.yaml) failed", "container main ended with exit code 1", "as told: [<masked> <masked>]",
	} {
		if code != 2 || !strings.Contains(said, want) {
			t.Errorf("exit code %d, and %q is not said: %s", code, want, said)
		}
	}
	for _, secret := range []string{"s3cretword", fmt.Sprintf("%x", sha256.Sum256([]byte("s3cretword")))} {
		if strings.Contains(said, secret) {
			t.Errorf("%q is said: %s", secret, said)
		}
	}
	u.install(t, "chart", "helm", chartConfig(t, asking))
	if phase := u.mustRun(t, "kubectl", "get", "pod", "test", "-n", "shop", "-o", "jsonpath={.status.phase}"); phase != "Succeeded" {
		t.Errorf("the test is %s", phase)
	}
}

// A start that fails when the node already runs ends the node.
func TestANodeWithAnImageThatIsNoneIsEnded(t *testing.T) {
	u := newUser(t)
	t.Setenv("ESPALIER_NODE_PROGRAMS", nodetest.Programs(t))
	before := nodetest.Traces(t)
	image := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(image, []byte("no image"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := u.run(t, "up", "--node", "--node-image", image, "--ui-addr", "")
	if code != 1 || !strings.Contains(errOut, "--node-image "+image) {
		t.Errorf("exit code %d: %s%s", code, out, errOut)
	}
	nodetest.NothingLeft(t, before)
}
