// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A job requested by a script, while a user watches the page.
import assert from "node:assert/strict";
import { succeeded } from "./cluster.mjs";
import { installation, mock, namespace } from "./objects.mjs";
import { notReloaded } from "./world.mjs";

const ns = "ci";
const release = (phase) => installation(ns, "release", {
  annotations: {}, items: [mock("database"), mock("schema", { phase }, { dependsOn: ["database"] }), mock("shop", {}, { dependsOn: ["schema"] })],
});

/** reconcile requests a job as a script does, and returns its exit code and its output about the job. */
async function reconcile(world, code) {
  const { code: ended, stdout, stderr } = await world.espalier("reconcile", "release", "-n", ns, "--wait", "-o", "json");
  assert.equal(ended, code, `${stdout}${stderr}`);
  const { results } = JSON.parse(stdout);
  assert.deepEqual(results.map((each) => [each.namespace, each.name, each.exitCode]), [[ns, "release", code]]);
  return results[0];
}

/** blames waits until the page shows the same as the command about a failed job. */
async function blames(page, { jobID, causes: [cause] }) {
  await page.getByRole("heading", { name: `Job ${jobID.slice(0, 8)}`, exact: true }).waitFor();
  await page.getByRole("row", { name: /schema DeployItem Failed/ }).waitFor();
  const last = page.getByRole("list", { name: "From this installation down to the cause" }).getByRole("listitem").last();
  await last.getByRole("button", { name: cause.name, exact: true }).waitFor();
  assert.ok((await last.innerText()).includes(cause.message), `the page does not say ${cause.message}`);
}

export const ci = {
  "J4: a job that a script asks for ends with 2 and the item that is to blame, as the page says": async (world) => {
    const { cluster } = world;
    await cluster.apply(namespace(ns), release("Failed"));
    await world.visit(`/installations/${ns}/release`, async (page) => {
      const failed = await reconcile(world, 2);
      assert.equal(failed.phase, "Failed");
      assert.deepEqual(failed.causes.map(({ kind, as, phase }) => [kind, as, phase]), [["DeployItem", "schema", "Failed"]]);
      const { spec, status } = await cluster.get("DeployItem", ns, failed.causes[0].name);
      assert.deepEqual([spec.config.phase, status.jobIDFinished], ["Failed", failed.jobID]);
      await blames(page, failed);
      await cluster.apply(release("Succeeded"));
      const done = await reconcile(world, 0);
      assert.notEqual(done.jobID, failed.jobID);
      assert.equal(done.causes, undefined);
      await page.getByRole("heading", { name: "release is done." }).waitFor();
      await page.getByRole("heading", { name: `Job ${done.jobID.slice(0, 8)}`, exact: true }).waitFor();
      assert.ok(succeeded(await cluster.get("Installation", ns, "release")));
      await notReloaded(page);
    });
  },
};
