// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Another build takes over the data of its predecessor, while a job runs and a user watches it.
import assert from "node:assert/strict";
import path from "node:path";
import { Cluster, isDone } from "./cluster.mjs";
import { Door } from "./door.mjs";
import { clusterImport, installation, map, place, target } from "./objects.mjs";
import { program, run } from "./program.mjs";
import { notReloaded } from "./world.mjs";

const ns = "upgrade";
const names = ["before", "gate", "after"];
/**
 * next is the build that takes over, which reports another version: "make ui-journeys" builds it, unless ESPALIER_NEXT names
 * another.
 */
const next = process.env.ESPALIER_NEXT ?? `${program}-next`;

/** versionOf returns the version that a build reports. */
async function versionOf(file, env) {
  const { code, stdout, stderr } = await run(file, ["version", "-o", "json"], env);
  assert.equal(code, 0, `${file} does not say its version: ${stderr}`);
  return stdout;
}

/** Plane is a separate control plane, with a server of the web UI that is not upgraded with it. */
class Plane {
  constructor(world) {
    const data = path.join(world.folder, "upgraded");
    Object.assign(this, { world, args: ["up", "--data-dir", data, "--ui-addr", "", "--start-timeout", "10m"], env: { ...world.env, KUBECONFIG: path.join(data, "kubeconfig") } });
  }

  async start(build) {
    this.up = this.world.start(build, this.args, this.env);
    await this.up.says(/Ctrl-C/, 600);
  }

  async open() {
    const { stdout } = await this.espalier("kubectl", "config", "view", "--raw", "--minify", "-o", "json");
    this.cluster = new Cluster(JSON.parse(stdout));
    this.ui = this.world.start(program, ["ui", "--address", "127.0.0.1:0"], this.env);
    this.reader = await this.world.enter((await this.ui.says(/(http:\S+code=\S+)/))[1]);
  }

  espalier(...args) {
    return run(program, args, this.env);
  }

  async close() {
    await this.reader?.close();
    await this.ui?.stop();
    this.cluster?.close();
    await this.up?.stop();
  }
}

/** application writes a ConfigMap, then one into a cluster behind a door, and then another one. */
const application = () => installation(ns, "app", {
  imports: ["cluster", "away"].map(clusterImport), spec: { imports: { targets: [{ name: "cluster", target: "here" }, { name: "away", target: "away" }] } },
  items: names.map((name, i) => map(ns, name, name, name === "gate" ? "away" : "cluster", i > 0 ? { dependsOn: [names[i - 1]] } : {})),
});

/** itemsOf returns the deploy items by their names in the blueprint. */
async function itemsOf(cluster) {
  const { spec } = await cluster.until("Execution", ns, "app", "filled", (found) => found?.status?.deployItemCache?.activeDIs?.length === names.length);
  assert.deepEqual(spec.deployItems.map((each) => each.name), names);
  const all = await cluster.list("DeployItem", ns);
  assert.equal(all.length, names.length);
  return Object.fromEntries(names.map((name) => [name, all.find((each) => JSON.stringify(each.spec.config).includes(`"name":"${name}"`))]));
}

const version = (object) => [object.metadata.uid, object.metadata.resourceVersion];

/** begins starts the job, and waits until it is in the middle of its work. */
async function begins(plane, door) {
  const { cluster } = plane;
  await cluster.apply(place(ns), target(ns, "away", { kubeconfig: cluster.kubeconfigAt(door.port) }), application());
  const items = await itemsOf(cluster);
  await cluster.until("DeployItem", ns, items.gate.metadata.name, "at the door", (found) => /connection refused/.test(found?.status?.lastError?.message));
  const job = await cluster.get("Installation", ns, "app");
  assert.ok(job.status.jobID && !isDone(job), "there is no job under way");
  return { jobID: job.status.jobID, items: await itemsOf(cluster), map: await cluster.get("ConfigMap", ns, "before") };
}

/** ends opens the door, waits until the job finishes, and fails if anything that was done before is done again, or is done twice. */
async function ends(plane, page, door, before) {
  const { cluster } = plane;
  const writes = (name, act) => () => cluster.versions("ConfigMap", ns, name, (found) => found?.data.text, act).then((texts) => assert.deepEqual(texts, [name]));
  const jobs = await cluster.versions("Installation", ns, "app", (found) => found.status.jobID, writes("gate", writes("after", async () => {
    await door.open();
    await page.getByRole("heading", { name: "app is done." }).waitFor();
  })));
  assert.deepEqual([...new Set(jobs)], [before.jobID]);
  const after = await itemsOf(cluster);
  for (const name of names) assert.deepEqual([after[name].metadata.uid, after[name].status.jobIDFinished], [before.items[name].metadata.uid, before.jobID], name);
  assert.deepEqual(version(await cluster.get("ConfigMap", ns, "before")), version(before.map), "what was done before was done again");
  assert.equal((await cluster.list("Execution", ns)).length, 1);
  assert.deepEqual((await cluster.list("Installation", ns)).map((each) => [each.metadata.name, each.status.phase, each.status.jobIDFinished]), [["app", "Succeeded", before.jobID]]);
}

export const upgrade = {
  "J10: another build takes over during a job: the page goes on, and nothing is done twice": async (world) => {
    assert.notEqual(await versionOf(next, world.env), await versionOf(program, world.env), "the build that takes over is the same one");
    const plane = new Plane(world);
    let door;
    try {
      await plane.start(program);
      await plane.open();
      door = await Door.closed(new URL(plane.cluster.server).port);
      const before = await begins(plane, door);
      await world.visit(`/installations/${ns}/app`, async (page) => {
        await page.getByRole("heading", { name: `Job ${before.jobID.slice(0, 8)}`, exact: true }).waitFor();
        await plane.up.stop();
        await page.getByText(/The cluster cannot be read/).waitFor();
        await plane.start(next);
        await page.getByText(/The cluster cannot be read/).waitFor({ state: "detached" });
        await ends(plane, page, door, before);
        await notReloaded(page);
        const { code, stderr } = await plane.espalier("reconcile", "app", "-n", ns, "--wait");
        assert.equal(code, 0, stderr);
      }, { as: plane.reader });
    } finally {
      await plane.close();
      await door?.close();
    }
  },
};
