// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The API server, asked directly: what a journey has done is seen there, and not only in the page.
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

  /**
   * until watches an object until something holds of it, and returns it; an object that is not there is undefined. With the version of a
   * list, it sees everything that has happened since, also what was undone meanwhile.
   */
  async until(kind, namespace, name, what, holds, since) {
    let last;
    const stop = {};
    const late = () => `${kind} ${namespace}/${name} is not ${what}: ${JSON.stringify(last && { annotations: last.metadata.annotations, status: last.status })}`;
    try {
      return await limit(patience, late, this.#watch({ path: pathOf(kind, namespace), name, stop, since }, (object) => {
        last = object;
        return Boolean(holds(object));
      }));
    } finally {
      stop.now?.();
    }
  }

  /** now is the version of everything of a kind at present. */
  async now(kind, namespace) {
    return (await this.call("GET", pathOf(kind, namespace))).metadata.resourceVersion;
  }

  async #watch({ path, name, stop, since }, holds) {
    const query = `?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
    const { items: [first], metadata } = await this.call("GET", path + query);
    if (!since && holds(first)) return first;
    const answer = await this.#open("GET", `${path}${query}&watch=1&resourceVersion=${since ?? metadata.resourceVersion}`);
    stop.now = () => answer.destroy();
    let text = "";
    for await (const part of answer.setEncoding("utf8")) {
      const lines = (text + part).split("\n");
      text = lines.pop();
      for (const line of lines) {
        const event = JSON.parse(line);
        const object = event.type === "DELETED" ? undefined : event.object;
        if (holds(object)) return object;
      }
    }
    throw new Error(`the watch of ${path} ended`);
  }
}

/** isDone is for installations and deploy items whose job has ended. */
export const isDone = (object) => object?.status?.jobID && object.status.jobID === object.status.jobIDFinished;
/** succeeded is for those that have succeeded, by a job or in the continuous flow. */
export const succeeded = (object) => object?.status?.phase === "Succeeded" && object.status.observedGeneration === object.metadata.generation && (object.spec.flow === "Continuous" || isDone(object));
