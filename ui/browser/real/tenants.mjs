// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The web UI of a cluster, for people who may see a part of it only.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { live } from "../chromium.mjs";
import { succeeded } from "./cluster.mjs";
import { account, application, dataObject, namespace, place, role, writer } from "./objects.mjs";
import { choose } from "./press.mjs";

const mine = "tenant-a";
const other = "tenant-b";
/** canary stands in everything of the other tenant that has a text. */
const canary = "canary-7f3a91";
const groups = ["landscaper.gardener.cloud", "pipelines.weave.works", "events.k8s.io"];
const notAllowed = (text) => /40[134]/.test(text);

/** Service is "espalier ui serve" with the rights that docs/ui.md names, and a key for its sessions. */
export class Service {
  static async start(world) {
    const docs = await readFile(new URL("../../../docs/ui.md", import.meta.url), "utf8");
    const file = path.join(world.folder, "role.yaml");
    await writeFile(file, /```yaml\n(apiVersion: rbac[^]*?)```/.exec(docs)[1]);
    await world.accepted(`kubectl apply -f ${file}`);
    await world.cluster.apply(namespace("ui"), account("ui", "espalier-ui"), {
      apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "espalier-ui" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "espalier-ui" }, subjects: [{ kind: "ServiceAccount", namespace: "ui", name: "espalier-ui" }],
    });
    const service = new Service(world);
    service.key = path.join(world.folder, "session-key");
    await writeFile(service.key, randomBytes(32).toString("hex"), { mode: 0o600 });
    service.kubeconfig = await world.kubeconfig("ui", await world.token("ui", "espalier-ui"));
    await service.run("127.0.0.1:0");
    return service;
  }

  constructor(world) {
    this.world = world;
  }

  async run(at) {
    this.program = this.world.program("ui", "serve", "--kubeconfig", this.kubeconfig, "--host", "localhost", "--address", at, "--session-key-file", this.key, "--cluster-name", "the garden");
    const [, port] = await this.program.says(/listens at 127\.0\.0\.1:(\d+)/);
    this.port = port;
    this.address = `http://localhost:${port}`;
  }

  /** login logs somebody in with a token, in the page, and returns the context of the browser. */
  async login(token) {
    const context = Object.assign(await this.world.context(), { address: this.address });
    await this.world.visit("/login", (page) => logIn(page, token), { as: context, allowed: notAllowed });
    return context;
  }
}

/** logIn fills the form, and waits for what comes after it. */
export async function logIn(page, token) {
  await page.getByLabel("Token of Kubernetes").fill(token);
  await page.getByRole("button", { name: "Log in with the token" }).click();
  await live(page);
}

const pipelineOf = (ns) => ({
  apiVersion: "pipelines.weave.works/v1alpha1", kind: "Pipeline", metadata: { namespace: ns, name: "app", annotations: { note: canary } },
  spec: { appRef: { apiVersion: "landscaper.gardener.cloud/v1alpha1", kind: "Installation", name: "app" }, environments: ["dev", "prod"].map((name) => ({ name, targets: [{ namespace: name === "dev" ? ns : `${ns}-prod` }] })), promotion: { manual: true, strategy: { installation: {} } } },
});

async function prepare(world) {
  const { cluster } = world;
  for (const ns of [mine, other]) await cluster.apply(place(ns), application(ns, "app", "1.0.0"), pipelineOf(ns));
  await cluster.apply(dataObject(other, "plans", canary), writer(other, canary), writer(other, "failing", { textFrom: `${canary}-missing` }));
  await cluster.apply(account(mine, "reader"), role(mine, "reader", { namespace: mine, name: "reader" }, [{ apiGroups: groups, resources: ["*"], verbs: ["get", "list", "watch"] }]));
  await cluster.until("Installation", mine, "app", "succeeded", succeeded);
  await cluster.until("Installation", other, canary, "succeeded", succeeded);
}

/** hear collects everything that the server says to a page, streams included. */
async function hear(page, heard) {
  const debug = await page.context().newCDPSession(page);
  await debug.send("Network.enable");
  debug.on("Network.eventSourceMessageReceived", (event) => heard.push(event.data));
  page.on("response", (answer) => {
    if (answer.headers()["content-type"]?.includes("json")) answer.text().then((text) => heard.push(text), () => {});
  });
}

async function looksAround(world, as) {
  const heard = [];
  await world.visit("/", async (page) => {
    await hear(page, heard);
    for (const where of ["/", "/installations", "/pipelines", "/targets", "/blueprints", `/installations/${mine}/app`, `/blueprints/${mine}/app`, `/pipelines/${mine}/app`, "/access"]) {
      await page.goto(as.address + where);
      await page.locator("main h1, main .empty h3").first().waitFor();
    }
    await page.goto(`${as.address}/installations`);
    await page.getByRole("row", { name: new RegExp(`app ${mine}`) }).waitFor();
    await page.getByRole("region", { name: "Not shown to you" }).getByText(/You may not list installations.* in all namespaces/).waitFor();
    assert.equal(await page.locator(".rows-body .row").count(), 1);
  }, { as });
  const text = heard.join("\n");
  assert.match(text, new RegExp(`"namespace":"${mine}"`), "nothing was heard");
  assert.ok(!text.includes(other) && !text.includes(canary), `something of another namespace was sent: ${text.slice(Math.max(0, text.search(`${other}|${canary}`) - 200), text.search(`${other}|${canary}`) + 200)}`);
}

/** asksForOthers asks for objects of the other tenant by every call; their names are known, and nothing else gets known. */
async function asksForOthers(world, as) {
  const ask = (kind, name) => `kind=${kind}&namespace=${other}&name=${name}`;
  const calls = [
    ...["Installation", "Pipeline", "Target", "DataObject", "Secret", "ConfigMap"].map((kind) => `objects?${ask(kind, kind === "DataObject" ? "plans" : "app")}`),
    `values?${ask("DataObject", "plans")}`, `values?${ask("ConfigMap", "app")}`, `preview?action=delete&${ask("Installation", "app")}`,
    ...["logs", "blueprints", "live", "diff"].map((call) => `${call}?${ask("DeployItem", "app")}`),
  ];
  await world.visit(`/installations/${other}/app`, async (page) => {
    await page.getByText(`There is no installation app in ${other}`).waitFor();
    for (const call of calls) {
      const { status, text } = await page.evaluate(async (where) => { const answer = await fetch(where); return { status: answer.status, text: await answer.text() }; }, `/api/v1/${call}`);
      assert.ok([403, 404].includes(status), `${call} is answered with ${status} ${text}`);
      assert.ok(!text.includes(canary) && !text.includes("1.0.0"), `${call} tells ${text}`);
    }
    await page.goto(`${as.address}/pipelines/${other}/app`);
    await page.getByText(`There is no pipeline app in ${other}`).waitFor();
  }, { as, allowed: notAllowed });
}

/** explained fails if an action can be pressed, or does not say why not. */
async function explained(page, buttons) {
  for (const [label, menu] of buttons) {
    await choose(page, label, menu, true);
    await page.locator(".toast").getByText(/You may not (patch|delete) \S+ in namespace tenant-a\. To check: kubectl auth can-i/).waitFor();
    assert.equal(await page.locator("dialog[open]").count(), 0, `${label} can be pressed`);
    await page.locator(".toast").getByRole("button", { name: "Close" }).click();
  }
}

async function mayDoNothing(world, as) {
  const before = await world.cluster.get("Installation", mine, "app");
  await world.visit(`/installations/${mine}/app`, (page) => explained(page, ["Reconcile", "Abort", "Force", "Delete"].map((label) => [label])), { as });
  await world.visit(`/pipelines/${mine}/app`, async (page) => {
    await explained(page, [["Hold all environments"], ["Release all environments"], ...["Hold prod", "Release prod"].map((label) => [label, "Actions on prod"])]);
    for (const [action, kind] of [["reconcile", "Installation"], ["force", "Installation"], ["delete", "Installation"], ["hold", "Pipeline"]]) {
      const said = await page.evaluate(async (body) => {
        const answer = await fetch("/api/v1/actions", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
        return { status: answer.status, ...(await answer.json()) };
      }, { action, ref: { kind, namespace: mine, name: "app" }, environment: kind === "Pipeline" ? "prod" : "", revision: "1.0.0", reason: "" });
      assert.ok(said.status === 403 && said.command?.startsWith("kubectl auth can-i"), `${action}: ${JSON.stringify(said)}`);
    }
  }, { as, allowed: notAllowed });
  const after = await world.cluster.get("Installation", mine, "app");
  assert.deepEqual([after.metadata.annotations, after.metadata.generation, after.metadata.deletionTimestamp], [before.metadata.annotations, before.metadata.generation, undefined]);
  assert.equal(Object.keys((await world.cluster.get("Pipeline", mine, "app")).metadata.annotations).length, 1);
}

export const tenants = {
  "J7: a tenant sees his own and nothing else, and is told what he may not do": async (world) => {
    await prepare(world);
    world.service = await Service.start(world);
    const as = await world.service.login(await world.token(mine, "reader"));
    for (const part of [looksAround, asksForOthers, mayDoNothing]) await part(world, as);
    await as.close();
  },
};
