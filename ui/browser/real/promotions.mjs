// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Revisions on their way from dev to prod, by mouse, by keyboard and with the commands that the pages show.
import assert from "node:assert/strict";
import { application, line } from "./objects.mjs";
import { agree, choose, instead, inMenu, question, starting, tabTo } from "./press.mjs";
import { notReloaded } from "./world.mjs";

const atProd = "Actions on prod";
export const decisions = { approve: (v) => `Approve ${v} for prod`, reject: (v) => `Reject ${v} for prod`, promote: (v) => `Promote ${v} to prod now`, retry: (v) => `Retry ${v} in prod` };

/** Line is a pipeline with its applications. */
export class Line {
  constructor(world, name) {
    Object.assign(this, { cluster: world.cluster, name, page: `/pipelines/${name}/${name}` });
  }

  async start() {
    await this.cluster.apply(line(this.name, this.name), ...["dev", "prod"].map((env) => application(`${this.name}-${env}`, this.name, "1.0.0")));
    await this.until("through with 1.0.0", (found) => found?.status?.run?.revision === "1.0.0" && found.status.run.completionTime);
    return this;
  }

  until(what, holds) {
    return this.cluster.until("Pipeline", this.name, this.name, what, holds);
  }

  /** release deploys a revision to dev, and waits until it waits at prod. */
  async release(revision) {
    await this.cluster.patch("Installation", `${this.name}-dev`, this.name, { spec: { importDataMappings: { text: revision } } });
    return this.waits(revision);
  }

  waits(revision) {
    return this.until(`waiting for an approval of ${revision}`, (found) => found.status.environments.prod.waitingApproval?.revision === revision);
  }

  /** arrives waits until a revision runs in prod, and returns the pipeline. */
  async arrives(revision) {
    const found = await this.until(`through with ${revision}`, ({ status: { environments: { prod: { promotion } } } }) => promotion?.revision === revision && promotion.state === "Complete");
    const [app, map] = [await this.cluster.get("Installation", `${this.name}-prod`, this.name), await this.cluster.get("ConfigMap", `${this.name}-prod`, this.name)];
    assert.deepEqual([app.spec.importDataMappings.text, map.data.text], [revision, revision]);
    return found;
  }

  rejected(revision) {
    return this.until(`without ${revision}`, ({ status: { environments: { prod: { promotion } } } }) => promotion?.revision === revision && promotion.state === "Rejected");
  }

  answered(action) {
    return this.until(`answered about ${action}`, (found) => found.status.requests?.some((each) => each.action === action && each.accepted));
  }

  holds() {
    return this.cluster.get("Pipeline", this.name, this.name).then((found) => Object.entries(found.metadata.annotations ?? {}).filter(([key]) => key.startsWith("hold.")).map(([, value]) => JSON.parse(value)));
  }
}

export const panel = (page, revision) => page.getByRole("region", { name: `Approval of ${revision} for prod` });

async function approves(page, shop) {
  await shop.release("1.1.0");
  await panel(page, "1.1.0").waitFor();
  const changes = panel(page, "1.1.0").getByRole("group", { name: "Changes of Installation shop-prod/shop" });
  assert.match((await changes.innerText()).replace(/\s+/g, " "), /spec\.importDataMappings\.text 1 - 1\.0\.0 1 \+ 1\.1\.0/);
  const sent = [];
  page.on("request", (request) => { if (request.url().endsWith("/actions")) sent.push(request.postData()); });
  await panel(page, "1.1.0").getByRole("button", { name: decisions.approve("1.1.0"), exact: true }).click();
  await question(page).getByRole("status", { name: "Loading" }).waitFor({ state: "detached" });
  await question(page).locator("button[type=submit]").dblclick();
  await question(page).waitFor({ state: "detached" });
  assert.equal(sent.length, 1, "a second click was sent");
  await page.evaluate((body) => fetch("/api/v1/actions", { method: "POST", headers: { "Content-Type": "application/json" }, body }), sent[0]);
  const { status } = await shop.arrives("1.1.0");
  assert.equal(status.requests.filter((each) => each.action === "approve" && each.accepted).length, 1, "it was approved twice");
  assert.equal(status.environments.prod.promotion.retries ?? 0, 0);
  await panel(page, "1.1.0").waitFor({ state: "detached" });
  await page.getByRole("article", { name: "prod" }).getByText("1.1.0").first().waitFor();
}

async function rejects(page, shop) {
  await shop.release("1.2.0");
  await choose(page, decisions.reject("1.2.0"));
  await agree(page, "after the sale");
  await shop.rejected("1.2.0");
  const { status } = await shop.answered("reject");
  assert.match(JSON.stringify(status), /after the sale/);
  await page.getByText(/after the sale/).first().waitFor();
  await choose(page, decisions.retry("1.2.0"), atProd);
  await agree(page);
  await shop.waits("1.2.0");
  await choose(page, decisions.promote("1.2.0"), atProd);
  await agree(page);
  await shop.arrives("1.2.0");
}

async function holdsAndReleases(page, shop) {
  await choose(page, "Hold prod", atProd);
  await agree(page, "the fair");
  assert.deepEqual((await shop.holds()).map(({ environment, message }) => ({ environment, message })), [{ environment: "prod", message: "the fair" }]);
  await choose(page, "Release prod", atProd);
  await agree(page);
  assert.deepEqual(await shop.holds(), []);
  await choose(page, "Hold all environments");
  await agree(page, "the fair");
  assert.equal((await shop.holds()).length, 1);
  await choose(page, "Release all environments");
  await agree(page);
  assert.deepEqual(await shop.holds(), []);
}

/** byCommands does the same with the commands that the dialogs show, and not on the page itself. */
async function byCommands(page, shop, world) {
  const run = async (label, menu) => {
    await choose(page, label, menu);
    await world.accepted(await instead(page));
  };
  await shop.release("1.3.0");
  await run(decisions.approve("1.3.0"));
  await shop.arrives("1.3.0");
  await shop.release("1.4.0");
  await run(decisions.reject("1.4.0"));
  await shop.rejected("1.4.0");
  await run(decisions.retry("1.4.0"), atProd);
  await shop.waits("1.4.0");
  await run(decisions.promote("1.4.0"), atProd);
  await shop.arrives("1.4.0");
  for (const what of ["prod", "all environments"]) {
    await run(`Hold ${what}`, what === "prod" ? atProd : undefined);
    assert.equal((await shop.holds()).length, 1);
    await run(`Release ${what}`, what === "prod" ? atProd : undefined);
    assert.deepEqual(await shop.holds(), []);
  }
}

/** key performs an action of the menu at prod with the keyboard alone, once it is enabled: a disabled one only says why. */
async function key(page, label, reason) {
  await page.evaluate(() => document.activeElement?.blur());
  await tabTo(page, /^Actions on prod$/);
  await page.keyboard.press("Enter");
  await inMenu(page, label).and(page.locator(":not([aria-disabled])")).waitFor();
  await tabTo(page, starting(label));
  await page.keyboard.press("Enter");
  await answer(page, label, reason);
}

async function answer(page, label, reason) {
  await question(page).waitFor();
  await tabTo(page, reason === undefined ? starting(label) : /^Reason/);
  if (reason !== undefined) await page.keyboard.type(reason);
  await page.keyboard.press("Enter");
  await question(page).waitFor({ state: "detached" });
}

/** toOverview presses "g o" until it has led there: the second key counts only for a moment after the first. */
async function toOverview(page) {
  do for (const each of "go") await page.keyboard.press(each); while (await page.evaluate(() => window.location.pathname) !== "/");
}

/** decide presses a button of the panel with the keyboard alone, starting from the overview. */
async function decide(page, revision, label, reason) {
  await toOverview(page);
  await page.getByRole("region", { name: "Needs you" }).getByRole("heading", { name: `Approve keys ${revision} for prod`, exact: true }).waitFor();
  await page.keyboard.press("a");
  await page.waitForURL(/\/pipelines\/keys\/keys#approval/);
  await panel(page, revision).waitFor();
  await page.waitForFunction(() => document.activeElement?.id === "approval");
  await tabTo(page, starting(label));
  await page.keyboard.press("Enter");
  await answer(page, label, reason);
}

export const promotions = {
  "J5: a promotion is seen, approved, rejected, tried again, forced, held and released": async (world) => {
    const shop = await new Line(world, "shop").start();
    await world.visit(shop.page, async (page) => {
      for (const part of [approves, rejects, holdsAndReleases, byCommands]) await part(page, shop, world);
      await notReloaded(page);
    });
  },

  "J8: the same by keyboard alone": async (world) => {
    const keys = await new Line(world, "keys").start();
    await world.visit("/", async (page) => {
      await keys.release("2.0.0");
      await decide(page, "2.0.0", decisions.approve("2.0.0"));
      await keys.arrives("2.0.0");
      await keys.release("2.1.0");
      await decide(page, "2.1.0", decisions.reject("2.1.0"), "not today");
      await keys.rejected("2.1.0");
      assert.match(JSON.stringify((await keys.answered("reject")).status), /not today/);
      await key(page, decisions.retry("2.1.0"));
      await keys.waits("2.1.0");
      await key(page, "Hold prod", "lunch");
      assert.deepEqual((await keys.holds()).map(({ message }) => message), ["lunch"]);
      await key(page, "Release prod");
      assert.deepEqual(await keys.holds(), []);
      await key(page, decisions.promote("2.1.0"));
      await keys.arrives("2.1.0");
      await notReloaded(page);
    });
  },
};
