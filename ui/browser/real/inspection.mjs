// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What pages request on demand: what values would render, what a job would change, the log of a deployer, the answers of clusters.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { isDone, succeeded } from "./cluster.mjs";
import { Door } from "./door.mjs";
import { dataObject, installation, mock, namespace, place, target, writer } from "./objects.mjs";
import { agree, choose } from "./press.mjs";
import { notReloaded } from "./world.mjs";

const landscaper = "landscaper.gardener.cloud/v1alpha1";

/** greeter creates an installation that writes an imported text, and waits until it has done so. */
async function greeter(world, ns) {
  await world.cluster.apply(place(ns), dataObject(ns, "greeting", "good morning"), writer(ns, "greeter", { textFrom: "greeting" }));
  return world.cluster.until("Installation", ns, "greeter", "succeeded", succeeded);
}

/** everything returns the versions of all objects that an inspection could have changed. */
async function everything(world, ns) {
  const lists = await Promise.all(["Installation", "Execution", "DeployItem", "DataObject", "Target", "ConfigMap", "Secret"].map((kind) => world.cluster.list(kind, ns)));
  return lists.flat().map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`).sort();
}

/** tries renders values on the page of a blueprint. */
async function tries(page, values) {
  await page.getByRole("textbox", { name: "Values, as YAML" }).fill(values);
  await page.getByRole("button", { name: "Render", exact: true }).click();
}

const nothing = "The next job would change none of the objects of the blueprint.";
const changes = (page) => page.getByRole("region", { name: "What would a job change?" });

export const inspection = {
  "a blueprint is rendered with values that somebody tries, and nothing is changed": async (world) => {
    const ns = "tried";
    await greeter(world, ns);
    const before = await everything(world, ns);
    await world.visit(`/blueprints/${ns}/greeter`, async (page) => {
      const rendered = async (text) => {
        await page.getByRole("button", { name: "Execution greeter", exact: true }).click();
        await page.getByLabel("YAML of Execution greeter").filter({ hasText: text }).waitFor();
      };
      await tries(page, "text: bonjour\n");
      await rendered("text: bonjour");
      await tries(page, "text: [1, 2]\n");
      await page.locator(".rendered").getByText(/text.*string/).waitFor();
      assert.equal(await page.locator(".rendered").getByText("bonjour").count(), 0, "what other values make is still there");
      await tries(page, "text: buona sera\n");
      await rendered("text: buona sera");
      await notReloaded(page);
    }, { allowed: (text) => /422/.test(text) });
    assert.deepEqual(await everything(world, ns), before);
  },

  "the page says what a job would change, and then that it would change nothing": async (world) => {
    const ns = "changed";
    const first = await greeter(world, ns);
    await world.visit(`/installations/${ns}/greeter`, async (page) => {
      await changes(page).getByRole("button", { name: "Show the changes" }).click();
      await changes(page).getByText(nothing).waitFor();
      await world.cluster.apply(dataObject(ns, "greeting", "good night"));
      const before = await everything(world, ns);
      await changes(page).getByRole("button", { name: "Compare again" }).click();
      const lines = changes(page).getByRole("group", { name: "Changes of greeter" }).locator(".ln");
      await lines.filter({ hasText: /removed:\s+text: good morning/ }).waitFor();
      await lines.filter({ hasText: /added:\s+text: good night/ }).waitFor();
      assert.deepEqual(await everything(world, ns), before);
      await choose(page, "Reconcile");
      await agree(page);
      const second = await world.cluster.until("Installation", ns, "greeter", "done again", (found) => isDone(found) && found.status.jobID !== first.status.jobID);
      assert.ok(succeeded(second));
      assert.equal((await world.cluster.get("ConfigMap", ns, "greeter")).data.text, "good night");
      await changes(page).getByText(nothing).waitFor();
      await notReloaded(page);
    });
  },

  "the page says what a job would change in an installation below, and what it cannot know before": async (world) => {
    const ns = "deep";
    const template = (imports, items, more = {}) => JSON.stringify({ apiVersion: landscaper, kind: "Blueprint", imports, ...more, deployExecutions: [{ name: "items", type: "GoTemplate", template: JSON.stringify({ deployItems: items }).replace('"TEXT"', "{{ toJson .imports.text }}") }] });
    const text = { name: "text", type: "data", schema: { type: "string" } };
    const sub = (name, blueprint, rest) => ({ apiVersion: landscaper, kind: "InstallationTemplate", name, blueprint: { filesystem: { "blueprint.yaml": blueprint } }, ...rest });
    const first = template([text], [mock("source", { export: { made: "today" } })], {
      exports: [{ name: "made", type: "data", schema: { type: "string" } }],
      exportExecutions: [{ name: "made", type: "GoTemplate", template: "exports: {made: {{ .values.deployitems.source.made }}}" }],
    });
    const parts = [
      sub("first", first, { imports: { data: [{ name: "text", dataRef: "text" }] }, exports: { data: [{ name: "made", dataRef: "made" }] } }),
      sub("second", template([text], [mock("sink", { providerStatus: { apiVersion: "example.org/v1", kind: "Status", text: "TEXT" } })]), { imports: { data: [{ name: "text", dataRef: "text" }] } }),
      sub("third", template([{ ...text, name: "made" }], [mock("end")]), { imports: { data: [{ name: "made", dataRef: "made" }] } }),
    ];
    await world.cluster.apply(namespace(ns), dataObject(ns, "word", "good morning"), installation(ns, "outer", { imports: [text], more: { subinstallations: parts }, spec: { imports: { data: [{ name: "text", dataRef: "word" }] } } }));
    await world.cluster.until("Installation", ns, "outer", "succeeded", succeeded);
    await world.visit(`/installations/${ns}/outer?diff=on`, async (page) => {
      await changes(page).getByText("export made of outer/first").waitFor();
      await changes(page).getByText("As far as is known, the next job would change nothing").waitFor();
      await world.cluster.apply(dataObject(ns, "word", "good night"));
      await changes(page).getByRole("button", { name: "Compare again" }).click();
      await changes(page).getByRole("button", { name: /^sink DeployItem .* · of second/ }).waitFor();
      const lines = changes(page).getByRole("group", { name: "Changes of sink" }).locator(".ln");
      await lines.filter({ hasText: /removed:\s+text: good morning/ }).waitFor();
      await lines.filter({ hasText: /added:\s+text: good night/ }).waitFor();
      await changes(page).getByText("1 changed", { exact: true }).waitFor();
      await notReloaded(page);
    });
  },

  "an object in the target opens as YAML as it is there, beside what was rendered": async (world) => {
    const ns = "opened";
    await greeter(world, ns);
    await world.cluster.patch("ConfigMap", ns, "greeter", { data: { text: "changed by hand" } });
    await world.visit(`/installations/${ns}/greeter`, async (page) => {
      await page.getByRole("row", { name: /^Unfold greeter greeter Execution/ }).getByRole("button").click();
      await page.getByRole("row", { name: /greeter DeployItem/ }).click();
      await page.getByRole("tab", { name: /^Objects/ }).click();
      await page.getByRole("list", { name: "Objects of greeter in its target" }).getByRole("button", { name: "greeter", exact: true }).click();
      const { metadata } = await world.cluster.get("ConfigMap", ns, "greeter");
      const live = page.getByLabel("YAML of ConfigMap greeter", { exact: true });
      await live.filter({ hasText: "text: changed by hand" }).filter({ hasText: metadata.uid }).waitFor();
      await page.getByLabel("YAML of ConfigMap greeter as it was rendered", { exact: true }).filter({ hasText: "text: good morning" }).waitFor();
      assert.equal(await page.getByText("managedFields").count(), 0);
      await world.cluster.remove("ConfigMap", ns, "greeter");
      await page.getByRole("button", { name: "Read it again" }).click();
      await page.getByRole("dialog").getByText("is no longer in the cluster").waitFor();
      await notReloaded(page);
    }, { allowed: (said) => /404/.test(said) });
  },

  "the log of a deploy item has what its deployer has said": async (world) => {
    const ns = "logged";
    const door = await Door.closed(new URL(world.cluster.server).port);
    await world.cluster.apply(place(ns), target(ns, "away", { kubeconfig: world.cluster.kubeconfigAt(door.port) }), writer(ns, "traveller", { into: "away" }));
    await world.visit(`/installations/${ns}/traveller`, async (page) => {
      await page.getByRole("row", { name: /^Unfold traveller traveller Execution/ }).getByRole("button").click();
      await page.getByRole("row", { name: /traveller DeployItem/ }).click();
      await page.getByRole("tab", { name: "Log" }).click();
      const line = page.getByRole("list", { name: "Lines about traveller" }).getByRole("listitem").filter({ hasText: "connection refused" }).last();
      await line.waitFor();
      const [, item] = /DeployItem\/logged\/([^&]+)/.exec(decodeURIComponent(page.url()));
      const log = await readFile(path.join(world.folder, "data", "espalier.log"), "utf8");
      assert.ok(log.split("\n").some((each) => each.includes(item) && each.includes("connection refused")), "the controllers have logged no such line");
      await notReloaded(page);
    });
  },

  "targets are looked at: which version answers, which cannot be reached, and that it is back": async (world) => {
    const ns = "looked";
    const door = await Door.closed(new URL(world.cluster.server).port);
    const { gitVersion } = await world.cluster.call("GET", "/version");
    await world.cluster.apply(place(ns), target(ns, "there", { kubeconfig: world.cluster.kubeconfigAt(new URL(world.cluster.server).port) }), target(ns, "away", { kubeconfig: world.cluster.kubeconfigAt(door.port) }));
    try {
      await world.visit(`/targets?q=${ns}`, async (page) => {
        const row = (name, words) => page.getByRole("row", { name: new RegExp(`^${name} ?${ns} ${words}`) });
        await row("there", `Reachable ${gitVersion}`).waitFor();
        await row("away", "Unreachable").filter({ hasText: "connection refused" }).waitFor();
        await door.open();
        await again(page, row("away", `Reachable ${gitVersion}`));
        await notReloaded(page);
      });
    } finally {
      await door.close();
    }
  },
};

/** again requests another check until it happens: a check is valid for some seconds before there can be another. */
async function again(page, until) {
  while (!(await until.isVisible())) {
    await page.getByRole("button", { name: /^Check(ing…| now)$/ }).click();
    await until.waitFor({ timeout: 3000 }).catch(() => {});
  }
}
