// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The web UI of a cluster, for users who may see only part of it.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { live } from "../chromium.mjs";
import { succeeded } from "./cluster.mjs";
import { freePort } from "./door.mjs";
import { account, application, dataObject, grant, namespace, place, role, writer } from "./objects.mjs";
import { inMenu, opened } from "./press.mjs";
import { run } from "./program.mjs";

const mine = "tenant-a";
const other = "tenant-b";
/** canary is in every text field of the other tenant. */
const canary = "canary-7f3a91";
const groups = ["landscaper.gardener.cloud", "pipelines.weave.works", "events.k8s.io"];
const notAllowed = (text) => /40[1349]/.test(text);

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
    await service.run(`127.0.0.1:${await freePort()}`);
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

  /** login logs a user in with a token, on the page, and returns the context of the browser. */
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
  await cluster.apply(writer(mine, "job"), place(`${mine}-prod`), application(`${mine}-prod`, "app", "0.9.0"), grant(mine, `${mine}-prod`));
  for (const name of ["app", "job"]) await cluster.until("Installation", mine, name, "succeeded", succeeded);
  await cluster.until("Pipeline", mine, "app", "waiting for an approval", (found) => found?.status?.environments?.prod?.waitingApproval?.revision === "1.0.0");
  await cluster.until("Installation", other, canary, "succeeded", succeeded);
}

/** hear collects everything that the server sends to a page, including streams. */
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
    for (const name of ["app", "job"]) await page.getByRole("row", { name: new RegExp(`${name} ${mine}`) }).waitFor();
    await page.getByRole("region", { name: "Not shown to you" }).getByText(/You may not list installations.* in all namespaces/).waitFor();
    assert.equal(await page.locator(".rows-body .row").count(), 2);
  }, { as });
  const text = heard.join("\n");
  assert.match(text, new RegExp(`"namespace":"${mine}"`), "nothing was heard");
  assert.ok(!text.includes(other) && !text.includes(canary), `something of another namespace was sent: ${text.slice(Math.max(0, text.search(`${other}|${canary}`) - 200), text.search(`${other}|${canary}`) + 200)}`);
}

/** asksForOthers requests objects of the other tenant with every call; their names are known, and nothing else is revealed. */
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

const held = ["Hold", "Release"];
const decided = ["Promote 1.0.0 to prod now", "Retry 1.0.0 in prod"];

/** denied is every action of every page with actions: those of the page itself, and those in its menus. */
const denied = [
  { page: `/installations/${mine}/app`, buttons: ["Reconcile", "Abort"], menus: { "More actions": ["Force", "Delete"] } },
  { page: `/installations/${mine}/job`, buttons: ["Reconcile", "Interrupt"], menus: { "More actions": ["Delete"] } },
  {
    page: `/pipelines/${mine}/app`, buttons: ["Hold all environments", "Reject 1.0.0 for prod", "Approve 1.0.0 for prod"],
    menus: { "More actions": ["Release all environments"], "Actions on prod": [...decided, ...held.map((word) => `${word} prod`)] },
  },
];

/** missing returns the text of a button that the user has no right to press. */
function missing(page, label) {
  const [verb, resource] = page.startsWith("/pipelines")
    ? [/^(Hold|Release) /.test(label) ? "patch" : "approve", "pipelines.pipelines.weave.works"]
    : [label === "Delete" ? "delete" : "patch", "installations.landscaper.gardener.cloud"];
  const check = `kubectl auth can-i ${verb} ${resource} -n ${mine}`;
  return { check, text: `You may not ${verb} ${resource} in namespace ${mine}. To check: ${check}. Ask an administrator of this cluster to grant it.` };
}

/** explains presses a button, which must say why nothing happens, also to screen readers. */
async function explains(page, button, text) {
  const heard = await button.evaluate((element) => {
    const id = element.getAttribute("aria-describedby");
    return [element.getAttribute("aria-disabled"), (id ? document.getElementById(id) : element.querySelector("small")).textContent];
  });
  assert.deepEqual(heard, ["true", text]);
  await button.click({ force: true });
  const toast = page.locator(".toast");
  await toast.getByText(text, { exact: true }).waitFor();
  assert.equal(await page.locator("dialog[open]").count(), 0, `${await button.innerText()} can be pressed`);
  await toast.getByRole("button", { name: "Close" }).click({ timeout: 5000 }).catch(() => {}); // It also disappears by itself.
  await toast.waitFor({ state: "detached" });
}

/** locked fails if a page has other actions than these, or one without an explanation. */
async function locked(page, where, { buttons, menus }) {
  for (const label of buttons) await page.getByRole("button", { name: label, exact: true }).waitFor();
  assert.deepEqual(await page.locator("main .joined button.btn").allInnerTexts(), buttons);
  assert.deepEqual(await page.locator("main .menu > button").evaluateAll((all) => all.map((each) => each.getAttribute("aria-label"))), Object.keys(menus));
  for (const label of buttons) await explains(page, page.getByRole("button", { name: label, exact: true }), missing(where, label).text);
  for (const [menu, labels] of Object.entries(menus)) {
    for (const label of labels) {
      await opened(page, menu);
      await inMenu(page, label).waitFor();
      assert.deepEqual(await page.locator(".sheet button.item b").allInnerTexts(), labels);
      await explains(page, inMenu(page, label), missing(where, label).text);
    }
  }
}

/** refused sends the requests of the buttons. A request that makes no sense now is answered with that, and has no effect either. */
async function refused(page, where) {
  const kind = where.startsWith("/pipelines") ? "Pipeline" : "Installation";
  const actions = kind === "Pipeline" ? ["approve", "reject", "promote", "hold", "retry", "release"] : ["reconcile", "force", "delete", "interrupt", "abort"];
  for (const action of actions) {
    const said = await page.evaluate(async (body) => {
      const answer = await fetch("/api/v1/actions", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
      return { status: answer.status, ...(await answer.json()) };
    }, { action, ref: { kind, namespace: mine, name: "app" }, environment: kind === "Pipeline" ? "prod" : "", revision: "1.0.0", reason: "" });
    const senseless = ["interrupt", "abort", "retry", "release"].includes(action) && [200, 409].includes(said.status);
    assert.ok(senseless || said.status === 403 && said.command?.startsWith("kubectl auth can-i"), `${action}: ${JSON.stringify(said)}`);
  }
}

const unchanged = ({ metadata: { annotations, generation, deletionTimestamp } }) => ({ annotations, generation, deletionTimestamp });

async function mayDoNothing(world, as) {
  const objects = async () => (await Promise.all(["Installation", "Pipeline"].map((kind) => world.cluster.list(kind, mine)))).flat().map(unchanged);
  const before = await objects();
  for (const { page: where, ...actions } of denied) {
    await world.visit(where, async (page) => {
      await locked(page, where, actions);
      await refused(page, where);
    }, { as, allowed: notAllowed });
  }
  assert.deepEqual(await objects(), before);
  const env = { ...world.env, KUBECONFIG: await world.kubeconfig("reader", await world.token(mine, "reader")) };
  for (const check of new Set(denied.flatMap(({ page }) => ["Delete", "Hold all", "Other"].map((label) => missing(page, label).check)))) {
    assert.equal((await run("/bin/sh", ["-c", check], env)).stdout, "no\n", check);
  }
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
