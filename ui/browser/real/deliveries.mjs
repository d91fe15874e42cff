// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Installations from creation to deletion.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { succeeded } from "./cluster.mjs";
import { Door } from "./door.mjs";
import { dataObject, installation, mock, namespace, place, target, writer } from "./objects.mjs";
import { agree, inMenu, opened, question } from "./press.mjs";
import { eventually } from "./wait.mjs";
import { example, notReloaded } from "./world.mjs";

/** withoutAge removes the duration of a state, which the page shows elsewhere. */
const withoutAge = (text) => text.replace(/ \(for [^)]*\)/, "");

export const deliveries = {
  "J1: from nothing to an example that has succeeded": async (world) => {
    await world.visit("/", async (page) => {
      await page.getByRole("heading", { name: "No installations yet" }).waitFor();
      const file = path.join(world.folder, "example.yaml");
      await writeFile(file, await example("hello/hello.yaml"));
      await world.accepted(`kubectl apply -f ${file}`);
      await page.getByRole("row", { name: /hello.*Succeeded/ }).waitFor();
      await notReloaded(page);
      assert.ok(succeeded(await world.cluster.get("Installation", "hello", "hello")));
      assert.equal((await world.cluster.get("ConfigMap", "hello", "greeting")).data.text, "Hello, world!");
      await page.getByRole("link", { name: "hello hello" }).click();
      await page.getByRole("heading", { name: "hello is done." }).waitFor();
    });
  },

  "J2: a missing import is named, and what brings it turns the page green": async (world) => {
    await world.cluster.apply(place("missing"), writer("missing", "greeter", { textFrom: "greeting" }));
    await world.visit("/", async (page) => {
      await page.getByRole("heading", { name: "greeter waits for import text" }).waitFor();
      await page.getByLabel("Needs you").getByText("DataObject missing/greeting does not exist").waitFor();
      await page.getByRole("link", { name: /^See why ?: greeter waits for import text$/ }).click();
      await page.getByText("Why is this not done?").waitFor();
      const { stdout } = await world.espalier("why", "greeter", "-n", "missing");
      assert.equal(await page.locator("#answer").innerText(), withoutAge(stdout.split("\n")[0]));
      await world.cluster.apply(dataObject("missing", "greeting", "good morning"));
      await page.getByRole("heading", { name: "greeter is done." }).waitFor();
      await notReloaded(page);
      assert.ok(succeeded(await world.cluster.get("Installation", "missing", "greeter")));
      assert.equal((await world.cluster.get("ConfigMap", "missing", "greeter")).data.text, "good morning");
    });
  },

  "J3: a job of thirty items is followed to its end": async (world) => {
    const items = Array.from({ length: 30 }, (_, i) => mock(`item-${i}`, { initialPhase: "Progressing" }, i % 6 ? { dependsOn: [`item-${i - 1}`] } : {}));
    await world.cluster.apply(namespace("many"), installation("many", "many", {
      items, imports: [{ name: "go", type: "data", schema: { type: "boolean" } }], spec: { imports: { data: [{ name: "go", dataRef: "go" }] } },
    }));
    await world.visit("/installations/many/many", async (page) => {
      await page.getByRole("heading", { name: "many waits for import go." }).waitFor();
      await world.cluster.apply(dataObject("many", "go", true));
      await page.getByRole("heading", { name: "many is done." }).waitFor();
      await notReloaded(page);
      await page.getByRole("row", { name: /^Unfold many many Execution/ }).getByRole("button").click();
      await page.getByRole("row", { name: /item-29 DeployItem/ }).waitFor();
      const tree = await treeOf(world, "many", "many");
      assert.equal(tree.length, 32);
      assert.ok(tree.every((each) => each.endsWith(" Succeeded")), tree.join("\n"));
      await eventually(async () => assert.deepEqual(await rowsOf(page), tree)); // The server watches each kind separately.
    }, { height: 3000 });
  },

  "J6: a cluster that is down is told of, disturbs nobody, and is used once it is back": async (world) => {
    const door = await Door.closed(new URL(world.cluster.server).port);
    await world.cluster.apply(place("far"), target("far", "away", { kubeconfig: world.cluster.kubeconfigAt(door.port) }));
    await world.cluster.apply(writer("far", "traveller", { into: "away" }), writer("far", "neighbour"));
    try {
      const { metadata: { name } } = await itemOf(world, "far", "traveller");
      const { status } = await world.cluster.until("DeployItem", "far", name, "in trouble", (item) => item.status?.lastError?.message);
      assert.match(status.lastError.message, /connection refused/);
      await world.visit("/installations/far/traveller", async (page) => {
        const said = page.locator("#answer").filter({ hasText: "connection refused" });
        await said.waitFor();
        await eventually(async () => {
          const { status: { lastError } } = await world.cluster.get("DeployItem", "far", name);
          assert.ok(withoutTry(await said.innerText()).endsWith(withoutTry(lastError.message)), `the page does not say ${lastError.message}`);
        });
        await world.cluster.until("Installation", "far", "neighbour", "succeeded", succeeded);
        await door.open();
        await page.getByRole("heading", { name: "traveller is done." }).waitFor();
        await notReloaded(page);
      });
      assert.equal((await world.cluster.get("ConfigMap", "far", "traveller")).data.text, "hello");
    } finally {
      await door.close();
    }
  },

  "J9: a deletion shows what it takes along, and takes it": async (world) => {
    await world.cluster.apply(place("going"), writer("going", "leaver"), writer("going", "stayer"));
    for (const name of ["leaver", "stayer"]) await world.cluster.until("Installation", "going", name, "succeeded", succeeded);
    await remove(world, "leaver", "uninstalls what was deployed", /uninstalls what was deployed \(deploy items: 1\)/);
    assert.equal(await world.cluster.get("ConfigMap", "going", "leaver"), undefined);
    await world.cluster.patch("Installation", "going", "stayer", { metadata: { annotations: { "landscaper.gardener.cloud/delete-without-uninstall": "true" } } });
    await remove(world, "stayer", "what was deployed stays", /What was deployed stays where it is/);
    assert.equal((await world.cluster.get("ConfigMap", "going", "stayer")).data.text, "hello");
  },
};

/** remove deletes an installation once the menu shows the consequences: the server may see an annotation late. */
async function remove(world, name, explanation, says) {
  const below = (await world.cluster.list("DeployItem", "going")).filter((item) => item.metadata.name.startsWith(name));
  assert.equal(below.length, 1);
  await world.visit(`/installations/going/${name}`, async (page) => {
    await opened(page);
    await inMenu(page, "Delete").filter({ hasText: explanation }).click();
    await question(page).getByText(says).waitFor();
    await question(page).locator("summary").click();
    for (const item of below) await question(page).getByText(item.metadata.name).waitFor();
    await agree(page);
    await page.getByText(`There is no installation ${name} in going`).waitFor();
    await notReloaded(page);
  });
  assert.equal(await world.cluster.get("Installation", "going", name), undefined);
  for (const kind of ["Execution", "DeployItem"]) assert.deepEqual((await world.cluster.list(kind, "going")).filter((each) => each.metadata.name.startsWith(name)), []);
}

/** withoutTry removes the time of the next attempt, which changes. */
const withoutTry = (text) => text.replace(/, next attempt at [^:]*:\d\d:\d\dZ/, "");

/** itemOf returns the deploy item of an installation that has one. */
async function itemOf(world, ns, name) {
  const execution = await world.cluster.until("Execution", ns, name, "filled", (found) => found?.status?.deployItemCache?.activeDIs?.length);
  return world.cluster.get("DeployItem", ns, execution.status.deployItemCache.activeDIs[0].objectName);
}

/** rowsOf returns the objects in the table of an installation, with their phases. */
async function rowsOf(page) {
  const found = await page.locator(".rows-body .row").evaluateAll((rows) => rows.map((row) => {
    const text = (part) => row.querySelector(part)?.textContent.trim();
    return `${text(".kind") ?? "Installation"} ${row.querySelector(".nmx").title} ${text(".cell.cp")}`;
  }));
  return found.sort();
}

/** treeOf returns the same objects as "espalier tree" shows them. */
async function treeOf(world, ns, name) {
  const { stdout } = await world.espalier("tree", name, "-n", ns, "-o", "json");
  const flat = (node) => [`${node.kind} ${node.namespace}/${node.name} ${node.phase}`, ...(node.below ?? []).flatMap(flat)];
  return JSON.parse(stdout).trees.flatMap(flat).sort();
}
