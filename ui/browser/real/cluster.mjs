// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Direct access to the API server: the result of a journey is checked there, and not only on the page.
import https from "node:https";
import { limit, patience } from "./wait.mjs";

const kinds = {
  Namespace: "/api/v1/namespaces", ServiceAccount: "/api/v1/serviceaccounts", ConfigMap: "/api/v1/configmaps", Secret: "/api/v1/secrets",
  Role: "/apis/rbac.authorization.k8s.io/v1/roles", RoleBinding: "/apis/rbac.authorization.k8s.io/v1/rolebindings",
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles", ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  Event: "/apis/events.k8s.io/v1/events", ReferenceGrant: "/apis/espalier.dev/v1alpha1/referencegrants", Pipeline: "/apis/pipelines.weave.works/v1alpha1/pipelines",
  ...Object.fromEntries(["Installation", "Execution", "DeployItem", "DataObject", "Target", "Context"].map((kind) => [kind, `/apis/landscaper.gardener.cloud/v1alpha1/${kind.toLowerCase()}s`])),
};

function pathOf(kind, namespace, name) {
  const at = kinds[kind].lastIndexOf("/");
  return (namespace ? `${kinds[kind].slice(0, at)}/namespaces/${namespace}${kinds[kind].slice(at)}` : kinds[kind]) + (name ? `/${encodeURIComponent(name)}` : "");
}

export class Cluster {
  /** config is a kubeconfig as JSON. */
  constructor(config) {
    const [{ cluster }] = config.clusters;
    const [{ user }] = config.users;
    const plain = (text) => text && Buffer.from(text, "base64");
    this.server = cluster.server;
    this.config = config;
    this.agent = new https.Agent({ keepAlive: true, ca: plain(cluster["certificate-authority-data"]), cert: plain(user["client-certificate-data"]), key: plain(user["client-key-data"]) });
  }

  close() {
    this.agent.destroy();
  }

  /** kubeconfigAt returns a kubeconfig that leads to the cluster through another port of this machine. */
  kubeconfigAt(port) {
    const config = structuredClone(this.config);
    config.clusters[0].cluster.server = `https://127.0.0.1:${port}`;
    return JSON.stringify(config);
  }

  #open(method, path, body, type) {
    return new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { "Content-Type": type };
      const request = https.request(this.server + path, { method, agent: this.agent, headers }, resolve);
      request.on("error", reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async call(method, path, body, type = "application/json") {
    const answer = await this.#open(method, path, body, type);
    let text = "";
    for await (const part of answer.setEncoding("utf8")) text += part;
    const said = JSON.parse(text);
    if (answer.statusCode >= 400) throw Object.assign(new Error(`${method} ${path}: ${said.message}`), { status: answer.statusCode });
    return said;
  }

  /** apply creates or changes objects. */
  async apply(...objects) {
    for (const object of objects.flat(Infinity)) {
      const { namespace, name } = object.metadata;
      await this.call("PATCH", `${pathOf(object.kind, namespace, name)}?fieldManager=real-tests&force=true`, object, "application/apply-patch+yaml");
    }
  }

  /** patch merges something into an object. */
  patch(kind, namespace, name, change) {
    return this.call("PATCH", pathOf(kind, namespace, name), change, "application/merge-patch+json");
  }

  /** get returns an object, or undefined if there is none. */
  async get(kind, namespace, name) {
    try {
      return await this.call("GET", pathOf(kind, namespace, name));
    } catch (error) {
      if (error.status === 404) return undefined;
      throw error;
    }
  }

  async list(kind, namespace) {
    return (await this.call("GET", pathOf(kind, namespace))).items;
  }

  remove(kind, namespace, name) {
    return this.call("DELETE", pathOf(kind, namespace, name));
  }

  /** until watches an object until a condition holds, and returns it; a missing object is undefined. */
  async until(kind, namespace, name, what, holds) {
    const { first, watch, look, late } = await this.#watch(kind, namespace, name, what, holds);
    try {
      return look(first) ? first : await limit(patience, late, read(watch, look));
    } finally {
      watch.destroy();
    }
  }

  /** during watches an object while an action runs, and until a condition has held, even if only for a moment. */
  async during(kind, namespace, name, what, holds, act) {
    const { watch, look, late } = await this.#watch(kind, namespace, name, what, holds);
    const seen = read(watch, look);
    seen.catch(() => {}); // An error is reported below, unless the action itself fails.
    try {
      await act();
      return await limit(patience, late, seen);
    } finally {
      watch.destroy();
    }
  }

  /** versions returns all values of a function over an object's states during an action; a deleted object is undefined. */
  async versions(kind, namespace, name, of, act) {
    const all = [];
    const { watch } = await this.#watch(kind, namespace, name);
    const reading = read(watch, (object) => { all.push(of(object)); }).catch(() => {}); // It ends when the watch is closed.
    try {
      await act();
    } finally {
      watch.destroy();
    }
    await reading;
    return all;
  }

  /** #watch opens a watch of one object; look records the last state, for late to report. */
  async #watch(kind, namespace, name, what, holds) {
    let last;
    const path = `${pathOf(kind, namespace)}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
    const { items: [first], metadata } = await this.call("GET", path);
    const watch = await this.#open("GET", `${path}&watch=1&resourceVersion=${metadata.resourceVersion}`);
    const look = (object) => {
      last = object;
      return Boolean(holds(object));
    };
    return { first, watch, look, late: () => `${kind} ${namespace}/${name} is not ${what}: ${JSON.stringify(last && { annotations: last.metadata.annotations, status: last.status })}` };
  }
}

/** read reads a watch until a condition holds for the object, and returns that. */
async function read(watch, holds) {
  let text = "";
  for await (const part of watch.setEncoding("utf8")) {
    const lines = (text + part).split("\n");
    text = lines.pop();
    for (const line of lines) {
      const event = JSON.parse(line);
      if (event.type === "ERROR") throw new Error(`the watch failed: ${event.object.message}`);
      const object = event.type === "DELETED" ? undefined : event.object;
      if (holds(object)) return object;
    }
  }
  throw new Error("the watch ended");
}

/** isDone reports whether the job of an installation or deploy item has finished. */
export const isDone = (object) => object?.status?.jobID && object.status.jobID === object.status.jobIDFinished;
/** succeeded reports whether an installation or deploy item has succeeded, by a job or in the continuous flow. */
export const succeeded = (object) => object?.status?.phase === "Succeeded" && object.status.observedGeneration === object.metadata.generation && (object.spec.flow === "Continuous" || isDone(object));
