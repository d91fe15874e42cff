// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Objects as users write them.
const landscaper = "landscaper.gardener.cloud/v1alpha1";
const clusterType = "landscaper.gardener.cloud/kubernetes-cluster";
/** operation is the annotation that requests a job. */
export const operation = "landscaper.gardener.cloud/operation";
export const asked = { [operation]: "reconcile" };

export const namespace = (name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
export const dataObject = (ns, name, data) => ({ apiVersion: landscaper, kind: "DataObject", metadata: { namespace: ns, name }, data });

/** role grants a service account rights in a namespace, or everywhere if there is none. */
export function role(ns, name, account, rules) {
  const api = "rbac.authorization.k8s.io";
  const prefix = ns ? "" : "Cluster";
  const metadata = ns ? { namespace: ns, name } : { name };
  return [
    { apiVersion: `${api}/v1`, kind: `${prefix}Role`, metadata, rules },
    { apiVersion: `${api}/v1`, kind: `${prefix}RoleBinding`, metadata, roleRef: { apiGroup: api, kind: `${prefix}Role`, name }, subjects: [{ kind: "ServiceAccount", ...account }] },
  ];
}

export const account = (ns, name) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: ns, name } });
export const target = (ns, name, config) => ({ apiVersion: landscaper, kind: "Target", metadata: { namespace: ns, name }, spec: { type: clusterType, config } });

/** place returns a namespace into which installations of the same namespace can deploy ConfigMaps, through the Target "here". */
export function place(ns) {
  return [
    namespace(ns), account(ns, "deployer"),
    role(ns, "deployer", { namespace: ns, name: "deployer" }, [{ apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }]),
    target(ns, "here", { selfConfig: { serviceAccount: { name: "deployer" } } }),
  ];
}

/** installation returns an installation whose blueprint has imports and one execution of the given deploy items. */
export function installation(ns, name, { spec = {}, annotations = asked, imports = [], exports = [], items = [], template, more = {} }) {
  const blueprint = {
    apiVersion: landscaper, kind: "Blueprint", imports, exports,
    deployExecutions: [{ name: "items", type: "GoTemplate", template: template ?? JSON.stringify({ deployItems: items }) }], ...more,
  };
  return {
    apiVersion: landscaper, kind: "Installation", metadata: { namespace: ns, name, annotations },
    spec: { ...spec, blueprint: { inline: { filesystem: { "blueprint.yaml": JSON.stringify(blueprint) } } } },
  };
}

/** mock returns a deploy item that ends as configured; with phase Progressing it never ends. */
export const mock = (name, config = {}, rest = {}) => ({
  name, type: "landscaper.gardener.cloud/mock", ...rest,
  config: { apiVersion: "mock.deployer.landscaper.gardener.cloud/v1alpha1", kind: "ProviderConfiguration", ...config },
});

/** map returns a deploy item that writes a ConfigMap with its name into the cluster of a Target that the blueprint imports. */
export const map = (ns, name, text, into = "cluster", rest = {}) => ({
  name, type: "landscaper.gardener.cloud/kubernetes-manifest", target: { import: into }, ...rest,
  config: {
    apiVersion: "manifest.deployer.landscaper.gardener.cloud/v1alpha2", kind: "ProviderConfiguration", updateStrategy: "update",
    manifests: [{ policy: "manage", manifest: { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: ns, name }, data: { text } } }],
  },
});

/** cluster is the import of a Target. */
export const clusterImport = (name) => ({ name, type: "target", targetType: clusterType });

/**
 * writer returns an installation that writes a ConfigMap with its name, with a text that it may import, into the cluster of a
 * Target.
 */
export function writer(ns, name, { text = "hello", textFrom, into = "here", spec = {}, annotations = asked } = {}) {
  const value = textFrom || spec.importDataMappings ? "{{ toJson .imports.text }}" : JSON.stringify(text);
  return installation(ns, name, {
    annotations, imports: [clusterImport("cluster"), ...(value.startsWith("{{") ? [{ name: "text", type: "data", schema: { type: "string" } }] : [])],
    template: JSON.stringify({ deployItems: [map(ns, name, "TEXT")] }).replace('"TEXT"', value),
    spec: { imports: { targets: [{ name: "cluster", target: into }], ...(textFrom ? { data: [{ name: "text", dataRef: textFrom }] } : {}) }, ...spec },
  });
}

/** application returns an installation in the continuous flow, whose revision pipelines read and write. */
export const application = (ns, name, revision) => writer(ns, name, {
  annotations: {}, spec: { flow: "Continuous", revisionField: "importDataMappings.text", importDataMappings: { text: revision }, imports: { targets: [{ name: "cluster", target: "here" }] } },
});

/** grant lets pipelines of a namespace read and write installations of another one. */
export const grant = (ns, other) => ({
  apiVersion: "espalier.dev/v1alpha1", kind: "ReferenceGrant", metadata: { namespace: other, name: `pipelines-of-${ns}` },
  spec: { from: [{ group: "pipelines.weave.works", kind: "Pipeline", namespace: ns }], to: [{ group: "landscaper.gardener.cloud", kind: "Installation" }] },
});

/** line returns a pipeline from dev to prod, each in its own namespace; prod requires an approval. */
export function line(ns, name) {
  const strategy = { installation: {} };
  return [
    namespace(ns), place(`${ns}-dev`), place(`${ns}-prod`), grant(ns, `${ns}-dev`), grant(ns, `${ns}-prod`),
    {
      apiVersion: "pipelines.weave.works/v1alpha1", kind: "Pipeline", metadata: { namespace: ns, name },
      spec: {
        appRef: { apiVersion: landscaper, kind: "Installation", name },
        environments: [{ name: "dev", targets: [{ namespace: `${ns}-dev` }] }, { name: "prod", targets: [{ namespace: `${ns}-prod` }], promotion: { manual: true, strategy } }],
        promotion: { strategy },
      },
    },
  ];
}
