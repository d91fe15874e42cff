// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { chromium } from "playwright-core";

/** launch starts Debian's Chromium; tools/chromium.sh installs it. */
export function launch() {
  return chromium.launch({
    timeout: 180_000, // A busy machine may need minutes.
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** views are the pages that every check visits. */
export const views = [
  { name: "overview", path: "/" }, { name: "installations", path: "/installations" }, { name: "pipelines", path: "/pipelines" },
  { name: "installation", path: "/installations/shop-dev-sa/shop?sel=Installation%2Fshop-dev-sa%2Fpayments" }, { name: "pipeline", path: "/pipelines/shop/shop" },
  { name: "targets", path: "/targets" }, { name: "blueprints", path: "/blueprints" }, { name: "blueprint", path: "/blueprints/shop-dev-sa/shop" }, { name: "access", path: "/access" },
];

/** ready waits until a page shows its document. */
export async function ready(page) {
  await page.locator("main h1, main .empty h3").first().waitFor();
}

/** live waits until the page shows that it is live. */
export async function live(page) {
  await page.locator(".side").getByText("Live", { exact: true }).waitFor();
}
