// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The common parts of all browser tests: a browser and a fixture server for each file, pages without errors, and queries.
import assert from "node:assert/strict";
import { after, before, beforeEach } from "node:test";
import { listen } from "./checks.mjs";
import { launch, ready } from "./chromium.mjs";
import { Fixture } from "./serve.mjs";

/** begin gives the tests of a file a fixture that is reset for each, and functions that open pages of it. */
export function begin() {
  const fixture = new Fixture();
  let browser;
  let address;
  before(async () => {
    browser = await launch();
    address = await fixture.listen();
  });
  after(async () => {
    await browser?.close();
    await fixture.close();
  });
  beforeEach(() => Object.assign(fixture, { scene: "little", loggedIn: true, refuse: 0, answerAction: undefined, answers: {}, requests: [] }));

  /** tour opens pages one after the other and passes each to a test; it fails if a page had errors meanwhile. */
  async function tour(paths, test, { width = 1440, height = 900, colorScheme = "light", allowed = () => false, prepare = async () => {}, ...more } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"], ...more });
    context.setDefaultTimeout(120_000);
    const page = await context.newPage();
    const wrong = await listen(page, allowed);
    await prepare(page);
    try {
      for (const path of paths) {
        await page.goto(address + path);
        await ready(page);
        await test(page, path);
        assert.deepEqual(wrong, [], `something was wrong on ${path}`);
      }
    } finally {
      await context.close();
    }
  }

  const visit = (path, test, options) => tour([path], test, options);
  return { fixture, tour, visit };
}

/** harmless fails if text from the cluster was executed, or became elements. */
export async function harmless(page) {
  assert.ok(!(await page.title()).includes("broken"), "text from the cluster has run");
  assert.equal(await page.locator("main script, main img").count(), 0, "text from the cluster has become elements");
}

/** until waits for something on the side of the server; the test's own timeout ends it. */
export async function until(holds) {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}
