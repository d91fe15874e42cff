// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Writes screenshots of every view to ui/screenshots: node browser/screenshots.mjs [scene] [view…].
import { mkdirSync } from "node:fs";
import { launch, ready, views } from "./chromium.mjs";
import { Fixture } from "./serve.mjs";

const [scene = "little", ...wanted] = process.argv.slice(2);
const folder = new URL("../screenshots", import.meta.url).pathname;
mkdirSync(folder, { recursive: true });
const fixture = new Fixture();
fixture.scene = scene;
const address = await fixture.listen();
const browser = await launch();
for (const [width, height] of [[1440, 900], [1920, 1080], [768, 1024], [360, 740]]) {
  for (const theme of ["light", "dark"]) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
    const page = await context.newPage();
    for (const view of views.filter((each) => wanted.length === 0 || wanted.includes(each.name))) {
      await page.goto(address + (width < 768 ? view.path.replace(/\?.*/, "") : view.path));
      await ready(page);
      // The whole page is on the screen, since rows outside it are not drawn.
      await page.setViewportSize({ width, height: Math.min(2600, await page.evaluate(() => document.documentElement.scrollHeight)) });
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      await page.screenshot({ path: `${folder}/${scene}-${view.name}-${width}-${theme}.png` });
      await page.setViewportSize({ width, height });
    }
    await context.close();
  }
}
await browser.close();
await fixture.close();
console.log(`pictures are in ${folder}`);
