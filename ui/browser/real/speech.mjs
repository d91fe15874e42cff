// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A promotion by a user of a screen reader: everything is found only by its role and its name.
import assert from "node:assert/strict";
import { decisions, Line } from "./promotions.mjs";
import { notReloaded } from "./world.mjs";

/** Reader finds elements as a screen reader names them. */
class Reader {
  constructor(page) {
    this.page = page;
  }

  /** finds waits for the one element with a role and a name, within another one if given. */
  async finds(role, name, within = this.page) {
    const found = within.getByRole(role, { name, exact: true });
    await found.waitFor();
    return found;
  }

  /** hears waits until the page has announced something. */
  async hears(text) {
    await this.page.getByRole("status").filter({ hasText: text }).first().waitFor();
  }

  /** answers answers the confirmation of an action, and waits until it is closed. */
  async answers(title, label, reason) {
    const dialog = await this.finds("dialog", title);
    await this.finds("heading", title, dialog);
    if (reason) await (await this.finds("textbox", "Reason, for others to read", dialog)).fill(reason);
    await (await this.finds("button", label, dialog)).click();
    await dialog.waitFor({ state: "detached" });
  }
}

/** approves goes from what needs attention to the approval, reads what it changes, and agrees. */
async function approves(reader, line) {
  const title = "Approve speech 3.0.0 for prod";
  const needs = await reader.finds("region", "Needs you");
  await reader.finds("heading", title, needs);
  await needs.getByRole("link", { name: title }).click();
  const panel = await reader.finds("region", "Approval of 3.0.0 for prod");
  await reader.finds("heading", "What changes in prod if you approve 3.0.0", panel);
  const changes = await reader.finds("group", "Changes of Installation speech-prod/speech", panel);
  assert.match(await changes.ariaSnapshot(), /1\.0\.0[^]*3\.0\.0/);
  await reader.finds("group", "Gates from dev to prod");
  await (await reader.finds("button", decisions.approve("3.0.0"), panel)).click();
  await reader.answers("Approve 3.0.0 for prod?", decisions.approve("3.0.0"));
  await reader.hears(/approve/);
  await line.arrives("3.0.0");
  await panel.waitFor({ state: "detached" });
  const prod = await reader.finds("article", "prod");
  await prod.getByRole("listitem").filter({ hasText: "3.0.0" }).waitFor();
  await reader.finds("rowheader", /^3\.0\.0/, await reader.finds("region", "Revisions"));
}

/** rejects does that, gives a reason, and retries the revision from the menu. */
async function rejects(reader, line) {
  await line.release("3.1.0");
  const panel = await reader.finds("region", "Approval of 3.1.0 for prod");
  await (await reader.finds("button", decisions.reject("3.1.0"), panel)).click();
  await reader.answers("Reject 3.1.0 for prod?", decisions.reject("3.1.0"), "too loud");
  await line.rejected("3.1.0");
  await panel.waitFor({ state: "detached" });
  const prod = await reader.finds("article", "prod");
  await (await reader.finds("button", "Actions on prod", prod)).click();
  await prod.getByRole("button", { name: decisions.retry("3.1.0"), disabled: false }).click();
  await reader.answers("Retry 3.1.0 in prod?", decisions.retry("3.1.0"));
  await line.waits("3.1.0");
  const anew = await reader.finds("region", "Approval of 3.1.0 for prod");
  await (await reader.finds("button", decisions.approve("3.1.0"), anew)).click();
  await reader.answers("Approve 3.1.0 for prod?", decisions.approve("3.1.0"));
  await line.arrives("3.1.0");
}

export const speech = {
  "J8: a promotion by roles and names alone, as a screen reader tells them": async (world) => {
    const line = await new Line(world, "speech").start();
    await line.release("3.0.0");
    await world.visit("/", async (page) => {
      const reader = new Reader(page);
      await reader.finds("navigation", "Main");
      await approves(reader, line);
      await rejects(reader, line);
      await notReloaded(page);
    });
  },
};
