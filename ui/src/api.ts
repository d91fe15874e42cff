// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Calls of the server other than streams. An error is a Refusal with the server's message.
import type { Blueprint, Call, Declared, Diff, Live, LiveObject, LiveYAML, Logs, Me, Overview, Preview, Ref, Rendered, ValueText } from "./documents";
import { Refusal } from "./refusal";
export { Refusal };

async function call<T>(path: string, body?: unknown): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
  } catch {
    throw new Refusal(0, "The server of these pages does not answer. Look whether it still runs, then try again.");
  }
  const text = await answer.text();
  if (!answer.ok) throw refusal(answer, text);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

function refusal(answer: Response, text: string): Refusal {
  try {
    const said = JSON.parse(text) as { message?: string; command?: string; loginWith?: string[]; oidcName?: string };
    return new Refusal(answer.status, said.message || `The server answered ${answer.status}.`, said.command, said.loginWith, said.oidcName);
  } catch {
    return new Refusal(answer.status, `The server answered ${answer.status} ${answer.statusText}.`);
  }
}

function query(path: string, parts: Record<string, string>): string {
  return `${path}?${new URLSearchParams(parts)}`;
}

export interface Order { action: string; ref: Ref; environment: string; revision: string; reason: string }

export const api = {
  me: () => call<Me>("/api/v1/me"),
  login: (token: string) => call<void>("/api/v1/login", { token }),
  logout: () => call<void>("/api/v1/logout", {}),
  act: (order: Order) => call<{ message: string }>("/api/v1/actions", order),
  preview: (action: string, ref: Ref, environment = "", revision = "") => call<Preview>(query("/api/v1/preview", { action, ...ref, ...(environment ? { environment } : {}), ...(revision ? { revision } : {}) })),
  value: (ref: Ref, key: string) => call<ValueText>(query("/api/v1/values", { ...ref, key })),
  object: (ref: Ref) => call<{ yaml: string }>(query("/api/v1/objects", { ...ref })),
  logs: (namespace: string, name: string) => call<Logs>(query("/api/v1/logs", { namespace, name })),
  live: (namespace: string, name: string) => call<Live>(query("/api/v1/live", { namespace, name })),
  liveObject: (item: Ref, of: LiveObject) => call<LiveYAML>(query("/api/v1/live/object", { namespace: item.namespace, name: item.name, objectVersion: of.apiVersion ?? "", objectKind: of.kind, objectNamespace: of.namespace ?? "", objectName: of.name })),
  declared: (namespace: string, name: string) => call<Declared>(query("/api/v1/declared", { namespace, name })),
  diff: (namespace: string, name: string) => call<Diff>(query("/api/v1/diff", { namespace, name })),
  check: () => call<void>("/api/v1/checks", {}),
  access: () => call<Call[]>("/api/v1/access"),
  blueprint: (namespace: string, name: string) => call<Blueprint>(query("/api/v1/blueprints", { namespace, name })),
  render: (namespace: string, name: string, values: string) => call<Rendered>("/api/v1/render", { namespace, name, values }),
  overview: firstOverview,
};

/** firstOverview reads the first document of the overview's stream, for the palette on pages with another stream. */
async function firstOverview(): Promise<Overview> {
  const stop = new AbortController();
  const answer = await fetch("/api/v1/stream/overview", { signal: stop.signal, headers: { Accept: "text/event-stream" } });
  if (!answer.ok || !answer.body) throw refusal(answer, await answer.text());
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let text = ""; ;) {
      const { value, done } = await reader.read();
      if (done) throw new Refusal(0, "The server ended the stream of the overview before it sent anything. Retry.");
      text += value;
      for (const part of text.split("\n\n").slice(0, -1)) {
        const lines = part.split("\n");
        if (!lines.includes("event: snapshot")) continue;
        return JSON.parse(lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n")) as Overview;
      }
    }
  } finally {
    stop.abort();
  }
}
