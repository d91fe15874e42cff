// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Calls of the server and the rights that they require. All of it is pure.
import type { Call } from "./documents";

const call = (method: string, path: string, what: string, ...rights: string[]): Call => ({ method, path: `/api/v1/${path}`, what, rights });

/** known lists the calls of a server that does not list them itself. */
export const known: Call[] = [
  call("GET", "stream/overview", "Overview, lists of installations and pipelines", "list on installations.landscaper.gardener.cloud", "list on pipelines.pipelines.weave.works"),
  call("GET", "stream/installations/…", "Trees, waterfalls, events", "list on executions.landscaper.gardener.cloud", "list on deployitems.landscaper.gardener.cloud", "list on events"),
  call("GET", "stream/pipelines/…", "Pages of pipelines", "list on pipelines.pipelines.weave.works"),
  call("GET", "stream/targets", "Targets", "list on targets.landscaper.gardener.cloud"),
  call("GET", "values", "Show a value, when it is pressed", "get on secrets", "get on configmaps"),
  call("GET", "objects", "YAML of an object, when it is pressed", "get on its kind"),
  call("GET", "live", "What a deploy item has in its target", "get on targets.landscaper.gardener.cloud", "get on secrets"),
  call("GET", "logs", "What deployers said of a deploy item", "get on deployitems.landscaper.gardener.cloud"),
  call("GET", "diff", "What the next job would change", "get on installations.landscaper.gardener.cloud"),
  call("POST", "checks", "Look whether targets can be reached", "get on targets.landscaper.gardener.cloud", "get on secrets"),
  call("POST", "actions", "Reconcile, interrupt, abort, force", "patch on installations.landscaper.gardener.cloud"),
  call("POST", "actions", "Delete an installation", "delete on installations.landscaper.gardener.cloud"),
  call("POST", "actions", "Approve, reject, promote, retry, hold, release", "patch on pipelines.pipelines.weave.works"),
];

/** changes reports whether a call changes something in the cluster. Checks of targets are sent by POST, but only read. */
export function changes(each: Call): boolean {
  return each.method !== "GET" && !/\/(checks|render|login|logout)$/.test(each.path);
}

/** rightsOf returns the rights for a call as sentences. */
export function rightsOf(each: Call): string[] {
  const rights: unknown[] = Array.isArray(each.rights) ? each.rights : each.rights ? [each.rights] : [];
  return rights.map((right) => (typeof right === "string" ? right : worded(right as { verb?: string; group?: string; resource?: string })));
}

function worded(right: { verb?: string; group?: string; resource?: string }): string {
  return `${right.verb ?? ""} on ${[right.resource, right.group].filter(Boolean).join(".")}`;
}

/** checkOf returns the command that checks a right, if it names a verb and a resource. */
export function checkOf(right: string): string | undefined {
  const parts = /^([a-z]+)(?: on)? ([a-z0-9./]+)$/.exec(right);
  return parts ? `kubectl auth can-i ${parts[1]} ${parts[2]} -n NAMESPACE` : undefined;
}
