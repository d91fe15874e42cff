// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Text that tries to break the pages or to be executed, in every field of real objects that users can set.
import assert from "node:assert/strict";
import { accessible, noSidewaysScrolling, nothingRan } from "../checks.mjs";
import { isDone } from "./cluster.mjs";
import { application, dataObject, installation, line, mock, namespace, operation } from "./objects.mjs";
import { agree, choose } from "./press.mjs";

const ns = "hostile";
const image = '<img src=x onerror="window.ran=1">';
const script = "</script><script>window.ran=1</script>";
const backwards = "‮dlrow olleh‬ שלום مرحبا";
const word = "w".repeat(1500);
const link = "javascript:window.ran=1";
const all = [image, script, backwards, link, word].join(" ");
/** longName is as long as the API server permits for names of installations; others may have 253 letters. */
const longName = "n".repeat(58);
const notes = { "a.example/note": all };

/** objects contain hostile text wherever the API server accepts it. */
function objects() {
  const broken = installation(ns, "broken", { template: `{{ fail ${JSON.stringify(all)} }}` });
  const odd = installation(ns, "odd", {
    imports: [{ name: "text", type: "data", schema: { type: "string", description: all, title: image } }], items: [mock("item", { providerStatus: { apiVersion: "a/v1", kind: "K", said: all } })],
    spec: { imports: { data: [{ name: "text", dataRef: "text" }] }, importDataMappings: { other: all } }, annotations: { [operation]: "reconcile", ...notes },
  });
  const long = installation(ns, longName, { items: [mock("item")] });
  const failing = installation(ns, "failing", { items: [mock("item", { phase: "Failed", providerStatus: { apiVersion: "a/v1", kind: "K", said: all } }, { labels: { note: "x" } })] });
  const lost = installation(ns, "lost", { imports: [{ name: "text", type: "data", schema: { type: "string" } }], spec: { imports: { data: [{ name: "text", dataRef: "m".repeat(253) }] } } });
  return [namespace(ns), dataObject(ns, "text", all), broken, odd, long, failing, lost, event(), away()];
}

const event = () => ({
  apiVersion: "events.k8s.io/v1", kind: "Event", metadata: { namespace: ns, name: "said" }, eventTime: new Date().toISOString().replace("Z", "000Z"), type: "Warning",
  reason: image, note: `${image} ${backwards} ${"w".repeat(800)}`, action: image, reportingController: "a.example/controller", reportingInstance: image,
  regarding: { apiVersion: "landscaper.gardener.cloud/v1alpha1", kind: "Installation", namespace: ns, name: "odd" },
});

const away = () => ({ apiVersion: "landscaper.gardener.cloud/v1alpha1", kind: "Target", metadata: { namespace: ns, name: "t".repeat(253), annotations: notes }, spec: { type: `a.example/${"t".repeat(200)}` } });

/** hostileLine creates a pipeline whose revisions and reasons are hostile. */
async function hostileLine(world) {
  const { cluster } = world;
  await cluster.apply(line("evil", "evil"), ...["dev", "prod"].map((env) => application(`evil-${env}`, "evil", image)));
  await cluster.until("Pipeline", "evil", "evil", "settled", (found) => found?.status?.run?.completionTime);
  const revision = `${script}${backwards}`;
  await cluster.patch("Installation", "evil-dev", "evil", { spec: { importDataMappings: { text: revision } } });
  await cluster.until("Pipeline", "evil", "evil", "waiting", (found) => found.status.environments.prod.waitingApproval?.revision === revision);
  await world.visit("/pipelines/evil/evil", async (page) => {
    await choose(page, "Hold all environments");
    await agree(page, all);
    await page.locator("#main").getByText(link).first().waitFor();
    await page.getByRole("button", { name: /^Reject / }).click();
    await agree(page, `${image} no ${backwards}${"w".repeat(1200)}`);
    await cluster.until("Pipeline", "evil", "evil", "rejected", (found) => found.status.environments.prod.promotion.state === "Rejected");
    await page.locator("#main").getByText(`${image} no `).first().waitFor();
    await nothingRan(page, "a pipeline with hostile reasons");
  });
}

const inTree = (name) => `/installations/${ns}/${name}?sel=${encodeURIComponent(`Installation/${ns}/${name}`)}`;
const hostilePages = ["/", "/installations", "/pipelines", "/targets", "/blueprints", ...["broken", "odd", "failing", "lost", longName].map(inTree), ...["odd", longName].map((name) => `/blueprints/${ns}/${name}`), "/pipelines/evil/evil"];

/** unfold opens what the drawer of a page hides at first. */
async function unfold(page) {
  for (const tab of ["Values", "Objects", "Events"]) {
    await page.getByRole("tab", { name: new RegExp(`^${tab}`) }).click();
    await page.getByRole("tabpanel", { name: new RegExp(`^${tab}`) }).waitFor();
    const hidden = page.locator("main button").filter({ hasText: /^(show|show all|••+|Show YAML.*)$/ });
    for (let left = 60; await answered(page) && await hidden.count() > 0; left--) {
      assert.ok(left > 0, `there is no end of what ${tab} hides`);
      await hidden.first().click();
    }
  }
}

/** answered waits until the drawer has the answers to all its requests. */
async function answered(page) {
  await page.locator('[role="tabpanel"] [aria-label="Loading"], [role="tabpanel"] :text("asking…")').first().waitFor({ state: "detached" });
  return true;
}

/** drawn waits until a page is redrawn for another screen size. */
async function drawn(page) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

async function stands(page, what) {
  await nothingRan(page, what);
  await noSidewaysScrolling(page, what);
}

/** harmless visits a page on a large and a small screen. */
async function harmless(world, where) {
  await world.visit(where, async (page) => {
    if (where.includes("sel=")) await unfold(page);
    await stands(page, where);
    await page.setViewportSize({ width: 360, height: 740 });
    await drawn(page);
    await stands(page, `${where} on a phone`);
  });
}

/** legible runs axe on a page, and on its colours in both themes. */
async function legible(world, where) {
  await world.visit(where, async (page) => {
    await accessible(page, where);
    await page.emulateMedia({ colorScheme: "dark" });
    await accessible(page, `${where} in the dark`, ["color-contrast"]);
  });
}

export const hostility = {
  "hostile text in real objects runs nowhere, and breaks no page": async (world) => {
    await world.cluster.apply(objects());
    await world.cluster.until("Installation", ns, "broken", "failed", (found) => found?.status?.lastError);
    for (const name of ["odd", "failing", longName]) await world.cluster.until("Installation", ns, name, "done", isDone);
    await hostileLine(world);
    for (const where of hostilePages) await harmless(world, where);
    const seen = await world.cluster.get("Installation", ns, "broken");
    assert.match(JSON.stringify(seen.status), /onerror/, "the test itself has lost its teeth: no hostile text is in the status");
  },

  "axe finds nothing serious on real pages in either theme": async (world) => {
    const installations = (await world.cluster.list("Installation")).filter((each) => each.metadata.namespace !== ns).slice(0, 4);
    const pipelines = (await world.cluster.list("Pipeline")).slice(0, 2);
    const page = ({ kind, metadata }) => `/${kind.toLowerCase()}s/${metadata.namespace}/${metadata.name}`;
    const pages = ["/", "/installations", "/pipelines", "/targets", "/blueprints", "/access", inTree("odd"), inTree("broken"), `/blueprints/${ns}/odd`];
    const named = [...installations.map((each) => page({ kind: "Installation", ...each })), ...pipelines.map((each) => page({ kind: "Pipeline", ...each }))];
    for (const where of [...pages, ...named]) await legible(world, where);
  },
};
