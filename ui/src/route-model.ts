// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Routing of addresses to pages. All of it is pure.

export type Route =
  | { page: "overview" } | { page: "installations" } | { page: "pipelines" } | { page: "targets" } | { page: "blueprints" }
  | { page: "login" } | { page: "access" } | { page: "nowhere"; path: string }
  | { page: "installation" | "pipeline" | "blueprint"; namespace: string; name: string };

const lists = ["installations", "pipelines", "targets", "blueprints", "login", "access"] as const;
const objects: Record<string, "installation" | "pipeline" | "blueprint"> = {
  installations: "installation", pipelines: "pipeline", blueprints: "blueprint",
};

/** parse returns the route of a path. */
export function parse(path: string): Route {
  const parts = path.split("/").filter(Boolean).map(decode);
  const [first, namespace, name] = parts;
  if (first === undefined) return { page: "overview" };
  const list = lists.find((each) => each === first);
  if (parts.length === 1 && list) return { page: list };
  const page = objects[first];
  if (parts.length === 3 && page && namespace && name) return { page, namespace, name };
  return { page: "nowhere", path };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** nextPage permits only pages of this server. */
export function nextPage(wanted: string): string {
  return /^\/(?![/\\])/.test(wanted) && !wanted.startsWith("/login") ? wanted : "/";
}
