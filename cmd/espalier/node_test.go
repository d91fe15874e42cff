// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build node

package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"espalier.dev/cmd/espalier/internal/nodetest"
	"espalier.dev/internal/archive"
)

// place is where the workloads of the tests are, with rights to make them.
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

// installation deploys one item, whose type and configuration are given.
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

// chart has a Deployment, a Job before it and one behind it that asks it, and a test.
var chart = map[string]string{
	"Chart.yaml": "{apiVersion: v2, name: store, version: 1.0.0, kubeVersion: \">=1.30.0-0\"}",
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
spec: {restartPolicy: Never, containers: [{name: main, image: IMAGE, args: [fetch, "http://store"]}]}
`}

// install writes an installation into the cluster and runs a job of it to its end.
func (u user) install(t *testing.T, name, kind, config string) {
	t.Helper()
	config = strings.ReplaceAll(config, "IMAGE", nodetest.WorkloadImage)
	text := strings.NewReplacer("NAME", name, "TYPE", kind, "CONFIG", config).Replace(place + installation)
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u.mustRun(t, "kubectl", "apply", "-f", file)
	u.mustRun(t, "reconcile", name, "-n", "shop", "--wait", "--timeout", "10m")
}

// What deployers call ready on a real node has run there.
func TestWorkloadsOnANode(t *testing.T) {
	u := newUser(t)
	t.Setenv("ESPALIER_NODE_PROGRAMS", nodetest.Programs(t))
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
	t.Run("a chart with hooks", func(t *testing.T) {
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
		u.install(t, "chart", "helm", `{apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, name: store, `+
			`namespace: shop, chart: {archive: {raw: `+base64.StdEncoding.EncodeToString(packed)+`}}}`)
		u.mustRun(t, "kubectl", "wait", "-n", "shop", "deployment/store", "--for=condition=Available", "--timeout=0s")
		u.mustRun(t, "kubectl", "wait", "-n", "shop", "job/before", "job/after", "--for=condition=Complete", "--timeout=0s")
	})
	i.stop(t, syscall.SIGTERM)

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
