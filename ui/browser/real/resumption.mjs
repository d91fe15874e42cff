// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What happens to an open page whose server stops and comes back.
import assert from "node:assert/strict";
import { Door, freePort } from "./door.mjs";
import { installation, mock, namespace } from "./objects.mjs";
import { logIn, Service } from "./tenants.mjs";
import { notReloaded } from "./world.mjs";

const ns = "stale";
const offline = (text) => /ERR_|Failed to load|401/.test(text);
const quick = (name) => installation(ns, name, { items: [mock("quick")] });
const row = (page, name) => page.getByRole("row", { name: new RegExp(`${name} ${ns} Succeeded`) });

/** isStale waits until the page says that it is not live, with its last content. */
async function isStale(page, name) {
  await page.getByText(/Not live since \d\d:\d\d\./).waitFor();
  await page.getByText(/You see the state of/).waitFor();
  await row(page, name).waitFor();
}

/**
 * isLive waits until the page has what happened meanwhile. A list under the pointer holds new rows back, so the pointer moves
 * away.
 */
async function isLive(page, name) {
  await page.mouse.move(0, 0);
  await row(page, name).waitFor();
  await page.getByText(/Not live since/).first().waitFor({ state: "detached" });
  await notReloaded(page);
}

/** tryNow presses the button repeatedly, like a user who has just heard that the server is back. */
async function tryNow(page, until) {
  const button = page.getByRole("button", { name: "Try now" });
  while (!(await until.isVisible())) {
    await button.or(until).first().waitFor();
    if (await button.isVisible()) await button.click({ timeout: 1000 }).catch(() => {});
  }
}

export const resumption = {
  "a connection that is cut: the page is stale, then goes on with what it has missed": async (world) => {
    await world.cluster.apply(namespace(ns), quick("before-cut"));
    const door = await Door.closed(new URL(world.admin.address).port);
    await door.open();
    const as = Object.assign(await world.context({ storageState: await world.admin.storageState() }), { address: `http://127.0.0.1:${door.port}` });
    try {
      await world.visit(`/installations?q=${ns}&group=nothing`, async (page) => {
        await row(page, "before-cut").waitFor();
        await door.close();
        await isStale(page, "before-cut");
        await world.cluster.apply(quick("during-cut"));
        await door.open();
        await isLive(page, "during-cut");
      }, { as, allowed: offline });
    } finally {
      await as.close();
      await door.close();
    }
  },

  "espalier ui that is killed: the page is stale, and then says how to open it anew": async (world) => {
    await world.cluster.apply(namespace(ns), quick("before-kill"));
    const start = async (at) => {
      const ui = world.program("ui", "--address", at);
      return { ui, address: (await ui.says(/(http:\S+code=\S+)/))[1] };
    };
    const first = await start(`127.0.0.1:${await freePort()}`);
    const as = await world.enter(first.address);
    await world.visit(`/installations?q=${ns}&group=nothing`, async (page) => {
      await row(page, "before-kill").waitFor();
      await first.ui.stop("SIGKILL");
      await isStale(page, "before-kill");
      await world.cluster.apply(quick("after-kill"));
      const second = await start(new URL(first.address).host);
      const login = page.getByRole("heading", { name: /Log in/ });
      await tryNow(page, login);
      await page.locator("main").getByText(/For a new one, start the command again/).waitFor();
      assert.equal(await page.getByLabel("Token of Kubernetes").count(), 0, "it asks for a token that would be of no use");
      await page.goto(second.address);
      await page.goto(`${as.address}/installations?q=${ns}&group=nothing`);
      await row(page, "after-kill").waitFor();
      await second.ui.stop();
    }, { as, allowed: offline });
    await as.close();
  },

  "espalier ui serve that is killed: after a login the page goes on where it was": async (world) => {
    await world.cluster.apply(namespace(ns), quick("before-crash"));
    const service = world.service ?? await Service.start(world);
    const token = await world.token("ui", "espalier-ui");
    const as = await service.login(token);
    await world.visit(`/installations?q=${ns}&group=nothing`, async (page) => {
      await row(page, "before-crash").waitFor();
      await service.program.stop("SIGKILL");
      await isStale(page, "before-crash");
      await world.cluster.apply(quick("after-crash"));
      await service.run(`127.0.0.1:${service.port}`);
      await tryNow(page, page.getByRole("heading", { name: /Log in/ }));
      await logIn(page, token);
      await isLive(page, "after-crash");
      assert.match(page.url(), new RegExp(`/installations\\?q=${ns}`));
    }, { as, allowed: offline });
    await as.close();
  },
};
