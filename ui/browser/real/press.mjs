// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// How users press things on the pages, by mouse and by keyboard.
import assert from "node:assert/strict";

const decision = /^(Approve|Reject) /;

/** inMenu returns an action in the open menu. */
export const inMenu = (page, label) => page.locator(".sheet button.item").filter({ has: page.getByText(label, { exact: true }) });

/** opened opens a menu, unless it is open. */
export async function opened(page, menu = "More actions") {
  const opener = page.getByRole("button", { name: menu, exact: true });
  if (await opener.getAttribute("aria-expanded") !== "true") await opener.click();
}

/**
 * choose presses an action, among the buttons of the page or in the menu that contains it, once it is enabled; force presses it
 * at once.
 */
export async function choose(page, label, menu = "More actions", force = false) {
  const button = page.getByRole("button", { name: label, exact: true });
  if (decision.test(label)) return button.click({ force }); // It appears with its panel, and is in no menu.
  await button.or(page.getByRole("button", { name: menu, exact: true })).first().waitFor();
  if (await button.count() > 0) return button.click({ force });
  await opened(page, menu);
  await inMenu(page, label).click({ force });
}

/** question returns the confirmation dialog of an action. */
export const question = (page) => page.locator("dialog.ask");

/**
 * commandIn returns the equivalent command in the dialog, once the dialog also shows what the action would affect, and has
 * stopped moving.
 */
async function commandIn(page) {
  const command = await question(page).locator(".also code").innerText();
  await question(page).getByRole("status", { name: "Loading" }).waitFor({ state: "detached" });
  return command;
}

/** agree confirms the dialog, and returns the command that it shows. */
export async function agree(page, reason) {
  const command = await commandIn(page);
  if (reason !== undefined) await question(page).getByLabel(/Reason/).fill(reason);
  await question(page).locator("button[type=submit]").click();
  await question(page).waitFor({ state: "detached" });
  return command;
}

/** instead closes the dialog without doing anything, and returns the command that it shows. */
export async function instead(page) {
  const command = await commandIn(page);
  await question(page).getByRole("button", { name: /^(Cancel|Keep)$/ }).click();
  await question(page).waitFor({ state: "detached" });
  return command;
}

/** starting matches texts with a prefix. */
export const starting = (text) => new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`);

/** tabTo presses Tab until an element with that name has the focus. */
export async function tabTo(page, name) {
  const seen = [];
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const { activeElement: on } = document;
      return on?.getAttribute("aria-label") ?? on?.labels?.[0]?.textContent ?? on?.textContent?.trim() ?? "";
    });
    if (name.test(at)) return;
    seen.push(at);
  }
  assert.fail(`Tab does not reach ${name}, only:\n${seen.join("\n")}`);
}
