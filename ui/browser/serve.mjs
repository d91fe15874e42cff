// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A server that implements the contract of the web UI with made-up data, and sets the same strict content security policy as the real one.
// It is for tests and for work on the pages: node browser/serve.mjs [little|much|long|hostile|empty] [port].
import { createServer } from "node:http";
import { existsSync, readFileSync, statSync } from "node:fs";
import { extname, join, normalize } from "node:path";
import * as data from "./data.mjs";

const site = new URL("../dist/site", import.meta.url).pathname;
const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
export const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Fixture is a running server. Tests check its requests, and send events from it. */
export class Fixture {
  scene = "little";
  loggedIn = true;
  requests = [];
  streams = new Set();
  refuse = 0;
  answerAction = undefined;
  /** answers replaces the server's answers by path: [status, body], or a function of the query that returns it. */
  answers = {};
  eventID = 0;

  constructor() {
    this.server = createServer((request, response) => this.handle(request, response).catch((error) => response.writeHead(500).end(String(error))));
  }

  listen(port = 0) {
    return new Promise((resolve) => this.server.listen(port, "127.0.0.1", () => resolve(`http://127.0.0.1:${this.server.address().port}`)));
  }

  close() {
    for (const stream of this.streams) stream.response.destroy();
    return new Promise((resolve) => this.server.close(resolve));
  }

  document(path) {
    const now = Date.now();
    const parts = path.split("/").map(decodeURIComponent);
    const made = this.make(parts, now);
    return this.scene === "hostile" ? data.hostile(made) : made;
  }

  make([page, namespace, name], now) {
    const empty = this.scene === "empty";
    if (page === "overview") return empty ? { ...data.overview(now), verdict: "Nothing needs you", needs: [], soon: [], pipelines: [], installations: [], hidden: ["You need list on installations in billing to see what is there."] } : this.scene === "much" ? data.much(now) : this.scene === "long" ? data.long(now) : data.overview(now);
    if (page === "targets") return empty ? { ...data.targets(now), verdict: "No targets yet", rows: [] } : data.targets(now);
    if (page === "pipelines") return { ...(this.scene === "long" ? data.longPipeline(now) : data.pipeline(now)), exists: !empty, ref: { kind: "Pipeline", namespace, name } };
    return { ...data.installation(now), exists: !empty, ref: { kind: "Installation", namespace, name } };
  }

  /** say sends an event to all streams whose path has a prefix. */
  say(prefix, event, body) {
    for (const stream of this.streams) if (stream.path.startsWith(prefix)) this.send(stream.response, event, body);
  }

  send(response, event, body) {
    response.write(`id: ${++this.eventID}\nevent: ${event}\ndata: ${JSON.stringify(body)}\n\n`);
  }

  /** drop ends all streams, like a server that stops. */
  drop() {
    for (const stream of this.streams) stream.response.destroy();
  }

  async handle(request, response) {
    const url = new URL(request.url, "http://fixture");
    response.setHeader("Content-Security-Policy", policy);
    response.setHeader("X-Content-Type-Options", "nosniff");
    response.setHeader("Cache-Control", "no-store");
    if (url.pathname.startsWith("/api/")) return this.api(request, response, url);
    return this.file(response, url.pathname);
  }

  file(response, path) {
    let file = join(site, normalize(decodeURIComponent(path)));
    if (!file.startsWith(site) || !existsSync(file) || statSync(file).isDirectory()) file = join(site, "index.html");
    response.writeHead(200, { "Content-Type": types[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  }

  async api(request, response, url) {
    let body;
    if (request.method === "POST") {
      let text = "";
      for await (const part of request) text += part;
      body = text ? JSON.parse(text) : undefined;
    }
    const path = url.pathname.slice("/api/v1/".length);
    this.requests.push({ method: request.method, path, query: Object.fromEntries(url.searchParams), body, type: request.headers["content-type"], last: request.headers["last-event-id"] });
    const json = (status, value) => response.writeHead(status, { "Content-Type": "application/json" }).end(value === undefined ? "" : JSON.stringify(value));
    if (request.method === "POST" && request.headers["content-type"] !== "application/json") return json(415, { message: "Send application/json." });
    if (path === "login") {
      if (body.token !== "right") return json(401, { message: "The token is not valid here. Make a new one and try again." });
      this.loggedIn = true;
      return json(204);
    }
    if (!this.loggedIn) return json(401, { message: "You are not logged in. Log in first.", loginWith: ["token", "oidc"], oidcName: "Example SSO" });
    if (path.startsWith("stream/")) return this.stream(request, response, path.slice("stream/".length));
    return this.answer(path, url.searchParams, body, json);
  }

  answer(path, query, body, json) {
    const set = this.answers[path];
    if (set) return json(...(typeof set === "function" ? set(query) : set));
    const made = (doc) => json(200, this.scene === "hostile" ? data.hostile(doc) : doc);
    switch (path) {
      case "live": return made(data.live(Date.now(), query.get("name")));
      case "live/object": return made(data.liveObject(query));
      case "declared": return made(data.declared);
      case "logs": return made(data.logs(Date.now(), query.get("name")));
      case "diff": return made(this.scene === "empty" ? { message: "The next job would change nothing.", notes: [], objects: [] } : data.diff());
      case "checks": return json(204);
      case "access": return made(data.access);
      case "me": return made({ user: "user@example.com", groups: ["approvers", "system:authenticated"], mode: "cluster", version: "v1.4.0", cluster: "garden-eu", loginWith: ["token"] });
      case "logout": this.loggedIn = false; return json(204);
      case "actions": return this.answerAction ? json(...this.answerAction) : made({ message: `${body.action} of ${body.ref.name} was asked for.` });
      case "preview": return query.get("action") !== "delete" ? made({ text: `${query.get("action")} affects 2 objects of ${query.get("name")}.`, objects: [{ kind: "Installation", namespace: "shop-dev-sa", name: "payments" }, { kind: "DeployItem", namespace: "shop-dev-sa", name: "payments-api" }] }) : made({ text: "shop and 41 objects on dev-sa are deleted.", objects: Array.from({ length: 41 }, (_, i) => ({ kind: "ConfigMap", namespace: "shop", name: `object-${i}` })) });
      case "values": return query.get("kind") === "Secret" && this.scene !== "little" ? json(403, { message: "You need get on secrets in shop-dev-sa.", command: "kubectl auth can-i get secrets -n shop-dev-sa" }) : json(200, { value: this.scene === "hostile" ? data.nasty.join("\n") : "username: shop\npassword: not-so-secret\n", truncated: false });
      case "objects": return json(200, { yaml: this.scene === "hostile" ? data.nasty.join("\n") : `apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: ${query.get("kind")}\nmetadata:\n  name: ${query.get("name")}\n  namespace: ${query.get("namespace")}\nspec:\n  blueprint:\n    ref:\n      resourceName: blueprint\n` });
      case "blueprints": return json(200, this.scene === "hostile" ? data.hostile(data.blueprint()) : data.blueprint());
      case "render": return body.values.includes("wrong") ? json(422, { message: "replicas must be an integer, but is a string." }) : made({ items: [{ name: "api", yaml: "kind: Deployment\nspec:\n  replicas: 3\n" }, { name: "web", yaml: "kind: Service\n" }], message: "" });
      default: return json(404, { message: `There is no ${path}.` });
    }
  }

  stream(request, response, path) {
    if (this.refuse > 0) {
      this.refuse--;
      return response.writeHead(503, { "Content-Type": "application/json" }).end('{"message":"The server starts."}');
    }
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const stream = { path, response };
    this.streams.add(stream);
    this.send(response, "snapshot", this.document(path));
    const beat = setInterval(() => this.send(response, "beat", {}), 15_000);
    request.on("close", () => {
      clearInterval(beat);
      this.streams.delete(stream);
    });
    response.on("close", () => {
      clearInterval(beat);
      this.streams.delete(stream);
    });
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const fixture = new Fixture();
  fixture.scene = process.argv[2] ?? "little";
  console.log(`${await fixture.listen(Number(process.argv[3] ?? 8090))} shows ${fixture.scene}`);
}
