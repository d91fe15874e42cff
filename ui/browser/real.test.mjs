// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Journeys through the pages in a real browser, against the product as users start it: "espalier up", "espalier ui" and "espalier ui serve"
// of the binary that "make build" builds, with a real API server and the real controllers. The result of a journey is checked at the API
// server, and not only on the page.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { actions } from "./real/actions.mjs";
import { ci } from "./real/ci.mjs";
import { deliveries } from "./real/deliveries.mjs";
import { hostility } from "./real/hostility.mjs";
import { inspection } from "./real/inspection.mjs";
import { promotions } from "./real/promotions.mjs";
import { resumption } from "./real/resumption.mjs";
import { speech } from "./real/speech.mjs";
import { tenants } from "./real/tenants.mjs";
import { upgrade } from "./real/upgrade.mjs";
import { World } from "./real/world.mjs";

let world;
before(async () => { world = await World.start(); });
after(async () => { await world?.stop(); });

const journeys = {
  ...deliveries, ...ci, ...inspection, ...promotions, ...speech, ...actions, ...tenants, ...resumption, ...upgrade, ...hostility,
};
const wanted = new RegExp(process.env.JOURNEYS ?? "");

describe("against the real product", () => {
  for (const [name, journey] of Object.entries(journeys)) if (wanted.test(name)) it(name, { timeout: 900_000 }, () => journey(world));
  it("there are journeys", () => assert.ok(Object.keys(journeys).some((name) => wanted.test(name))));
});
