// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// How people press things in the pages, by mouse and by keyboard.
import assert from "node:assert/strict";

const decision = /^(Approve|Reject) /;

/** choose presses an action, among the buttons of the page or in the menu that has it, once it is not locked any more; force presses it at once. */
export async function choose(page, label, menu = "More actions", force = false) {
  const button = page.getByRole("button", { name: label, exact: true });
  const item = page.locator(".sheet button.item").filter({ has: page.locator("b", { hasText: label }) });
  const opener = page.getByRole("button", { name: menu, exact: true });
  if (decision.test(label)) return button.first().click({ force }); // It comes with its panel, and no menu has it.
  await button.or(opener).first().waitFor();
  if (await button.count() === 0) await opener.click();
  await (await button.count() > 0 ? button : item).first().click({ force });
}

/** question is the dialog in front of an action. */
export const question = (page) => page.locator("dialog.ask");

/** commandIn is what the dialog says to run in a terminal instead. */
export const commandIn = (page) => question(page).locator(".also code").innerText();

/** agree does what the dialog asks about, and returns the command that it shows. */
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

/** tabTo presses Tab until something of that name has the focus. */
export async function tabTo(page, name) {
  const seen = [];
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent?.trim() ?? "");
    if (name.test(at)) return;
    seen.push(at);
  }
  assert.fail(`Tab does not reach ${name}, only:\n${seen.join("\n")}`);
}
