// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Every action on installations, performed on the page and with the command that the page shows, and checked at the API server.
import assert from "node:assert/strict";
import { isDone } from "./cluster.mjs";
import { installation, mock, namespace, operation } from "./objects.mjs";
import { agree, choose, instead, question } from "./press.mjs";
import { notReloaded } from "./world.mjs";

const ns = "acts";
const endless = { items: [mock("endless", { phase: "Progressing" })] };

/** asks performs an action and waits until the operation was written to the installation, from which the controllers remove it. */
function asks(world, name, value, act) {
  return world.cluster.during("Installation", ns, name, `asked to ${value}`, (found) => found?.metadata.annotations?.[operation] === value, act);
}

/** twice performs an action on the page, and then with its command; again restores a state in which it makes sense. */
async function twice(world, page, { name, label, value, settles, again }) {
  await asks(world, name, value, async () => { await choose(page, label); await agree(page); });
  await world.cluster.until("Installation", ns, name, `settled after ${label}`, settles);
  await again();
  await asks(world, name, value, async () => { await choose(page, label); await world.accepted(await instead(page)); });
  await world.cluster.until("Installation", ns, name, `settled after the command of ${label}`, settles);
}

const phase = (...wanted) => (found) => wanted.includes(found?.status?.phase);
const runs = (found) => found?.status?.phase === "Progressing";

/** shows waits until the page shows a job, and no former one. */
async function shows(page, { status: { jobID } }) {
  await page.getByRole("heading", { name: `Job ${jobID.slice(0, 8)}`, exact: true }).waitFor();
}

/** told waits until the page shows the phase of its installation. */
async function told(page, name, word) {
  await page.getByRole("row", { name: new RegExp(`^(Fold|Unfold) ${name} ${name} ${word}`) }).waitFor();
}

async function jobs(world) {
  const { cluster } = world;
  const name = "job";
  await cluster.apply(installation(ns, name, endless));
  const first = await cluster.until("Installation", ns, name, "running", runs);
  await world.visit(`/installations/${ns}/${name}`, async (page) => {
    const begin = async () => {
      await choose(page, "Reconcile");
      await agree(page);
      await shows(page, await cluster.until("Installation", ns, name, "running again", (found) => runs(found) && !isDone(found)));
    };
    await shows(page, first);
    await twice(world, page, { name, label: "Interrupt", value: "interrupt", settles: (found) => isDone(found) && found.status.phase === "Failed", again: begin });
    const after = await cluster.get("Installation", ns, name);
    assert.notEqual(after.status.jobID, first.status.jobID, "the page has started no job");
    await choose(page, "Reconcile");
    await world.accepted(await instead(page));
    const third = await cluster.until("Installation", ns, name, "running for the third time", (found) => runs(found) && !isDone(found));
    assert.notEqual(third.status.jobID, after.status.jobID, "the command has started no job");
    await notReloaded(page);
  });
}

async function continuous(world) {
  const { cluster } = world;
  const name = "steady";
  await cluster.apply(installation(ns, name, { ...endless, annotations: {}, spec: { flow: "Continuous" } }));
  await cluster.until("Installation", ns, name, "running", runs);
  await world.visit(`/installations/${ns}/${name}`, async (page) => {
    await told(page, name, "Progressing");
    await twice(world, page, {
      name, label: "Abort", value: "abort", settles: phase("Aborted"),
      again: async () => {
        await told(page, name, "Aborted");
        await asks(world, name, "reconcile", async () => { await choose(page, "Reconcile"); await agree(page); });
        await cluster.until("Installation", ns, name, "running again", runs);
        await told(page, name, "Progressing");
      },
    });
    await twice(world, page, { name, label: "Force", value: "force-reconcile", settles: (found) => !found.metadata.annotations?.[operation], again: async () => {} });
    await notReloaded(page);
  });
}

async function deletions(world) {
  const { cluster } = world;
  for (const name of ["gone", "gone-too"]) await cluster.apply(installation(ns, name, { items: [mock("quick")] }));
  for (const [name, how] of [["gone", agree], ["gone-too", async (page) => world.accepted(await instead(page))]]) {
    await cluster.until("Installation", ns, name, "done", isDone);
    await world.visit(`/installations/${ns}/${name}`, async (page) => {
      await choose(page, "Delete");
      await question(page).getByText(`Deletes ${name}`).waitFor();
      await how(page);
      await cluster.until("Installation", ns, name, "gone", (found) => !found);
      await page.getByText(`There is no installation ${name} in ${ns}`).waitFor();
    });
  }
}

export const actions = {
  "every action on installations, in the page and by its command": async (world) => {
    await world.cluster.apply(namespace(ns));
    for (const part of [jobs, continuous, deletions]) await part(world);
  },
};
