// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What must hold for every page, whatever it shows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** listen records errors of a page: errors, warnings, violations of its policy, unexpected dialogs. */
export async function listen(page, allowed) {
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !allowed(message.text())) wrong.push(`console: ${message.text()} ${message.location().url}`);
  });
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  return wrong;
}

export async function noSidewaysScrolling(page, what) {
  const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= screen, `${what} is ${content} px wide on a screen of ${screen} px`);
}

/**
 * accessible fails on serious findings of axe, with some of its rules or all. It is injected with the debugger, which the policy
 * of the page does not block.
 */
export async function accessible(page, what, rules) {
  await page.evaluate(axe);
  const found = await page.evaluate(async (runOnly) => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"], ...(runOnly ? { runOnly } : {}) });
    const words = (node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`;
    return violations.filter((each) => ["serious", "critical"].includes(each.impact)).map((each) => `${each.id}: ${each.nodes.slice(0, 4).map(words).join("\n    ")}`);
  }, rules);
  assert.deepEqual(found, [], `axe found something serious on ${what}`);
}

/** nothingRan fails if text from the cluster was executed or became part of the page. */
export async function nothingRan(page, what) {
  assert.equal(await page.evaluate(() => window.ran), undefined, `text from the cluster has run on ${what}`);
  assert.equal(await page.locator("main script, main img, main iframe").count(), 0, `text from the cluster has become elements on ${what}`);
}
