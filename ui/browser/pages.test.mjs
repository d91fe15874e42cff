// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The built pages in a real browser, against a server that implements the contract: every view in both themes at every width, journeys by
// keyboard, the requests of actions, and what happens after the loss of a stream.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { live, views } from "./chromium.mjs";
import { accessible, noSidewaysScrolling } from "./checks.mjs";
import { begin, harmless, until } from "./visit.mjs";

const { fixture, visit, tour } = begin();
const widths = [[360, 740, "light"], [768, 1024, "dark"], [1440, 900, "light"], [1920, 1080, "dark"]];

const pathAt = (view, width) => (width < 768 ? view.path.replace(/\?.*/, "") : view.path);

describe("every view", () => {
  for (const scene of ["little", "hostile"]) {
    for (const [width, height, oneTheme] of widths) {
      for (const theme of ["light", "dark"]) {
        it(`${scene} at ${width} in ${theme}`, async () => {
          fixture.scene = scene;
          // The effect of texts on a page does not depend on its colours, so one theme per width is enough for hostile ones.
          const looks = scene === "little" || theme === oneTheme;
          await tour(views.map((view) => pathAt(view, width)), async (page, path) => {
            await noSidewaysScrolling(page, path);
            if (looks) await accessible(page, path);
            await harmless(page);
          }, { width, height, colorScheme: theme });
        });
      }
    }
  }
  it("has nothing in it, and ends up at the login", async () => {
    fixture.scene = "empty";
    await tour(views.map((view) => view.path), async (page, path) => { await noSidewaysScrolling(page, path); await accessible(page, path); });
    fixture.loggedIn = false;
    await visit("/login", async (page) => { await noSidewaysScrolling(page, "login"); await accessible(page, "login"); }, { width: 360, allowed: (text) => text.includes("401") });
  });
});

describe("ten thousand installations", () => {
  it("draws only the rows on the screen, and scrolls to the last", async () => {
    fixture.scene = "much";
    await visit("/installations?group=nothing", async (page) => {
      assert.equal(await page.getByRole("treegrid").getAttribute("aria-rowcount"), "10001");
      assert.ok(await page.locator(".rows-body .row").count() < 80);
      await page.locator(".rows-body .row").first().focus();
      await page.keyboard.press("End");
      await page.locator('.rows-body .row[aria-rowindex="10001"]:focus').waitFor();
      assert.ok(await page.locator(".rows-body .row").count() < 80);
      await page.keyboard.press("Home");
      await page.locator('.rows-body .row[aria-rowindex="2"]:focus').waitFor();
    });
  });
  it("follows a key that comes right after the focus, before the next frame", async () => {
    fixture.scene = "much";
    await visit("/installations?group=nothing", async (page) => {
      await page.evaluate(async () => {
        const rows = document.querySelectorAll(".rows-body .row");
        rows[3].focus();
        while (rows[3].tabIndex !== 0) await Promise.resolve(); // drawn, but not yet painted
        rows[3].dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
      });
      await page.locator('.rows-body .row[aria-rowindex="10001"]:focus').waitFor();
    });
  });
  it("filters with counts and searches", async () => {
    fixture.scene = "much";
    await visit("/installations?group=nothing", async (page) => {
      await page.getByRole("button", { name: /^Failing/ }).click();
      assert.equal(await page.getByRole("treegrid").getAttribute("aria-rowcount"), "11");
      await page.keyboard.press("/");
      await page.keyboard.type("service-04 tenant");
      await page.waitForFunction(() => document.querySelector('[role="treegrid"]')?.getAttribute("aria-rowcount") === "2");
      assert.match(page.url(), /q=service-04/);
      await page.keyboard.type("nowhere");
      await page.getByText(/Nothing matches/).waitFor();
      await page.getByRole("button", { name: "Clear search" }).click();
      assert.equal(await page.getByRole("treegrid").getAttribute("aria-rowcount"), "10001");
    });
  });
});

describe("pipelines", () => {
  const tracks = (page) => page.locator(".trackrow");
  const shown = (page, count) => page.waitForFunction((wanted) => document.querySelectorAll(".trackrow").length === wanted, count);
  it("are filtered with counts and searched, by words of names, states, environments and revisions", async () => {
    await visit("/pipelines", async (page) => {
      const filters = page.getByRole("group", { name: "Filter by state" });
      assert.deepEqual(await filters.getByRole("button").allTextContents(), ["All3", "Failing1", "Needs approval1", "On the move2", "At rest1"]);
      await filters.getByRole("button", { name: /^At rest/ }).click();
      await shown(page, 1);
      await page.getByRole("link", { name: "search search" }).waitFor();
      assert.match(page.url(), /state=rest/);
      await filters.getByRole("button", { name: /^All/ }).click();
      await shown(page, 3);
      await page.keyboard.press("/");
      await page.keyboard.type("staging 3.4.0");
      await shown(page, 1);
      await page.getByRole("link", { name: "catalog-api catalog" }).waitFor();
      assert.match(page.url(), /q=staging/);
      assert.deepEqual(await filters.getByRole("button").allTextContents(), ["All1", "Failing0", "Needs approval0", "On the move1", "At rest0"]);
      await page.keyboard.type(" nowhere");
      await page.getByText("Nothing matches “staging 3.4.0 nowhere”").waitFor();
      await page.getByText("3 pipelines are hidden by the search.").waitFor();
      await accessible(page, "no pipelines found");
      await page.getByRole("button", { name: "Clear search" }).click();
      await shown(page, 3);
      await filters.getByRole("button", { name: /^Failing/ }).click();
      await page.keyboard.press("/");
      await page.keyboard.type("catalog");
      await page.getByText(/Nothing matches/).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("link", { name: "shop shop" }).waitFor();
    });
  });
  it("are all there, a hundred at a time, the gravest first, and none is left out without a word", async () => {
    fixture.scene = "much";
    await visit("/pipelines", async (page) => {
      await shown(page, 100);
      assert.match(await tracks(page).first().textContent(), /^line-120/);
      await accessible(page, "many pipelines");
      await page.getByText("of 160 that are not shown").waitFor();
      await page.getByRole("button", { name: "100 more pipelines" }).click();
      await shown(page, 200);
      await page.waitForFunction(() => [...document.querySelectorAll(".trackrow")].findIndex((row) => row.contains(document.activeElement)) === 100);
      await page.getByRole("button", { name: "60 more pipelines" }).click();
      await shown(page, 260);
      assert.equal(await page.getByRole("button", { name: /more pipelines/ }).count(), 0);
      await page.getByLabel("Search pipelines").fill("team-07");
      await shown(page, 13);
    });
    await visit("/", async (page) => {
      await shown(page, 12);
      await page.getByRole("link", { name: "14 more pipelines on the move" }).click();
      await page.getByRole("heading", { name: "26 of 260 pipelines on the move" }).waitFor();
      await shown(page, 26);
    });
  });
  it("stay in their places while somebody reads them", async () => {
    await visit("/pipelines", async (page) => {
      const names = () => tracks(page).locator(".who b").allTextContents();
      const { pipelines, installations: _, ...rest } = fixture.document("overview");
      await page.getByRole("link", { name: "catalog-api catalog" }).focus();
      const before = await names();
      const failed = { ...pipelines[2], status: { tone: "failed", word: "Stalled" } };
      const fresh = { ...pipelines[2], ref: { kind: "Pipeline", namespace: "aaa", name: "aaa" } };
      fixture.say("overview", "change", { ...rest, pipelines: [failed, fresh], installations: [], gonePipelines: [pipelines[0].ref], goneInstallations: [] });
      const button = page.getByRole("button", { name: /^1 new pipeline/ });
      await button.waitFor();
      assert.deepEqual(await names(), before);
      await page.locator(".trackrow.gone").getByText("Gone").waitFor();
      await page.locator(".trackrow").filter({ hasText: "Stalled" }).waitFor();
      await accessible(page, "pipelines held back");
      await button.click();
      await button.waitFor({ state: "detached" });
      assert.deepEqual(await names(), ["search", "catalog-api", "aaa"]);
      await page.waitForFunction(() => document.activeElement?.classList.contains("who"));
    });
  });
});

describe("keyboard", () => {
  it("leads from the overview to a cause and back", async () => {
    await visit("/", async (page) => {
      await page.keyboard.press("n");
      assert.match(await page.evaluate(() => document.activeElement.textContent), /^See why/);
      await page.keyboard.press("n");
      assert.match(await page.evaluate(() => document.activeElement.textContent), /^Review changes/);
      await page.keyboard.press("p");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: /no build for arm64/ }).waitFor();
      await page.keyboard.press("w");
      assert.equal(await page.evaluate(() => document.activeElement.id), "why");
      await page.keyboard.press("v");
      await page.getByRole("tab", { name: /^Values/, selected: true }).waitFor();
      await page.keyboard.press("3");
      await page.getByRole("tab", { name: /^Events/, selected: true }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("tab").first().waitFor({ state: "detached" });
      await page.keyboard.press("g");
      await page.keyboard.press("o");
      await page.getByRole("heading", { name: "3 things need you" }).waitFor();
    });
  });
  it("moves in the graph along values, and opens the drawer", async () => {
    await visit("/installations/shop-dev-sa/shop", async (page) => {
      await page.locator("g.node").filter({ hasText: "kafka" }).focus();
      await page.keyboard.press("ArrowRight");
      assert.match(await page.evaluate(() => document.activeElement.textContent), /^payments/);
      await page.keyboard.press("Space");
      await page.getByRole("complementary", { name: "Installation payments" }).waitFor();
      assert.match(page.url(), /sel=/);
      const zoom = () => page.locator("svg.g > g").getAttribute("transform");
      const whole = await zoom();
      await page.keyboard.press("-");
      assert.notEqual(await zoom(), whole);
      await page.keyboard.press("0");
      assert.equal(await zoom(), whole);
      assert.match(whole, /scale\(1\)|scale\(0\.\d+\)/);
    });
  });
  it("folds and unfolds the tree", async () => {
    await visit("/installations/shop-dev-sa/shop", async (page) => {
      await page.getByRole("treegrid").scrollIntoViewIfNeeded();
      const row = page.getByRole("row", { name: /^(Fold|Unfold) payments payments (?!Execution)/ });
      await row.focus();
      assert.equal(await row.getAttribute("aria-expanded"), "true");
      await page.keyboard.press("ArrowLeft");
      assert.equal(await row.getAttribute("aria-expanded"), "false");
      await page.keyboard.press("ArrowRight");
      await page.getByText("payments-schema").first().waitFor();
      await page.keyboard.press("Space");
      assert.equal(await row.getAttribute("aria-selected"), "true");
    });
  });
  it("searches and runs by the palette, also from a page with another stream", async () => {
    await visit("/targets", async (page) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type("catalog-api");
      await page.getByRole("option", { name: /catalog-api/ }).waitFor();
      await accessible(page, "palette");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/pipelines\/catalog\/catalog-api/);
      await page.keyboard.press("Control+k");
      await page.keyboard.type("theme: dark");
      await page.keyboard.press("Enter");
      await page.locator('html[data-theme="dark"]').waitFor();
    });
  });
  it("takes what is typed right after Ctrl K, before the next frame", async () => {
    await visit("/targets", async (page) => {
      const focused = await page.evaluate(async () => {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }));
        for (let i = 0; i < 1000 && !document.querySelector("dialog"); i++) await Promise.resolve(); // drawn, but not yet painted
        return document.activeElement?.getAttribute("role");
      });
      assert.equal(focused, "combobox");
    });
  });
  it("lists its keys, and can be switched off", async () => {
    await visit("/", async (page) => {
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await accessible(page, "keys");
      await page.getByLabel("Single keys are on").uncheck();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.keyboard.press("?");
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: /Search/ }).waitFor();
      assert.equal(await page.getByRole("dialog").count(), 1);
    });
  });
  it("goes to the preview of an approval, and never approves", async () => {
    await visit("/", async (page) => {
      await page.keyboard.press("a");
      await page.waitForURL(/#approval/);
      await page.getByRole("heading", { name: /What changes in prod/ }).waitFor();
      await page.waitForFunction(() => document.activeElement?.id === "approval");
      assert.equal(fixture.requests.filter((each) => each.path === "actions").length, 0);
    });
  });
});

describe("actions", () => {
  const sent = () => fixture.requests.filter((each) => each.path === "actions");
  it("asks before it reconciles, and sends what it says", async () => {
    await visit("/installations/shop-dev-sa/shop", async (page) => {
      await page.keyboard.press("r");
      const dialog = page.getByRole("dialog", { name: "Reconcile shop in shop-dev-sa?" });
      await dialog.getByText("espalier reconcile shop -n shop-dev-sa").waitFor();
      await accessible(page, "question");
      await dialog.getByRole("button", { name: "Cancel" }).click();
      assert.equal(sent().length, 0);
      await page.keyboard.press("r");
      await dialog.getByRole("button", { name: "Reconcile", exact: true }).click();
      await page.getByText("reconcile of shop was asked for.").first().waitFor();
      assert.deepEqual(sent().map(({ method, body, type }) => ({ method, body, type })), [{
        method: "POST", type: "application/json",
        body: { action: "reconcile", ref: { kind: "Installation", namespace: "shop-dev-sa", name: "shop" }, environment: "", revision: "", reason: "" },
      }]);
    });
  });
  it("shows what a deletion takes along, and keeps it", async () => {
    await visit("/installations/shop-dev-sa/shop", async (page) => {
      await page.getByRole("button", { name: "More actions" }).click();
      await accessible(page, "menu");
      await page.getByRole("button", { name: /^Delete shop/ }).click();
      await page.getByText("shop and 41 objects on dev-sa are deleted.").waitFor();
      await page.getByRole("button", { name: "Keep" }).click();
      assert.equal(sent().length, 0);
    });
  });
  it("says why it is locked, and sends nothing", async () => {
    await visit("/pipelines/shop/shop", async (page) => {
      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("button", { name: /^Promote/ }).click({ force: true });
      await page.locator(".toast").getByText(/You need patch on pipelines in shop/).waitFor();
      assert.equal(await page.getByRole("dialog").count(), 0);
      assert.equal(sent().length, 0);
    });
  });
  it("approves from the preview with the revision, and rejects with a reason", async () => {
    await visit("/pipelines/shop/shop", async (page) => {
      await page.getByRole("button", { name: "Approve 1.8.2 for prod", exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Approve 1.8.2 for prod", exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Reject", exact: true }).click();
      await page.getByRole("dialog").getByLabel(/Reason/).fill("after the sale");
      await page.getByRole("dialog").getByRole("button", { name: "Reject", exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      const ref = { kind: "Pipeline", namespace: "shop", name: "shop" };
      assert.deepEqual(sent().map((each) => each.body), [
        { action: "approve", ref, environment: "prod", revision: "1.8.2", reason: "" }, { action: "reject", ref, environment: "prod", revision: "1.8.2", reason: "after the sale" },
      ]);
    });
  });
  it("shows the server's words and the command when it refuses", async () => {
    fixture.answerAction = [403, { message: "You need patch on installations in shop-dev-sa.", command: "kubectl auth can-i patch installations -n shop-dev-sa" }];
    await visit("/installations/shop-dev-sa/shop", async (page) => {
      await page.keyboard.press("r");
      await page.getByRole("dialog").getByRole("button", { name: "Reconcile", exact: true }).click();
      await page.getByRole("alert").getByText("You need patch on installations in shop-dev-sa.").waitFor();
      await page.getByText("kubectl auth can-i patch installations -n shop-dev-sa").waitFor();
    }, { allowed: (text) => text.includes("403") });
  });
  it("asks for a secret only when it is pressed", async () => {
    await visit("/installations/shop-dev-sa/shop?sel=Installation%2Fshop-dev-sa%2Fpayments", async (page) => {
      assert.equal(fixture.requests.filter((each) => each.path === "values").length, 0);
      await page.getByRole("button", { name: "Show the value of dbCredentials" }).click();
      await page.getByText("not-so-secret").waitFor();
      assert.deepEqual(fixture.requests.filter((each) => each.path === "values").map((each) => each.query), [{ kind: "Secret", namespace: "shop-dev-sa", name: "db-credentials", key: "value" }]);
      await page.getByRole("tab", { name: /^Objects/ }).click();
      await page.getByRole("button", { name: /^Show YAML/ }).click();
      await page.getByText("resourceName:").waitFor();
    });
  });
  it("copies commands", async () => {
    await visit("/installations/shop-dev-sa/shop", async (page) => {
      await page.keyboard.press("c");
      await page.waitForFunction(async () => (await navigator.clipboard.readText()) === "espalier why shop -n shop-dev-sa");
    });
  });
  it("renders values that somebody tries", async () => {
    await visit("/blueprints/shop-dev-sa/shop", async (page) => {
      await page.getByLabel("Values, as YAML").fill("replicas: 3");
      await page.getByRole("button", { name: "Render" }).click();
      await page.getByText("kind: Deployment").waitFor({ state: "attached" }).catch(() => page.getByText("Deployment").first().waitFor());
      assert.deepEqual(fixture.requests.filter((each) => each.path === "render").map((each) => each.body), [{ namespace: "shop-dev-sa", name: "shop", values: "replicas: 3" }]);
      await page.getByLabel("Values, as YAML").fill("replicas: wrong");
      await page.getByRole("button", { name: "Render" }).click();
      await page.getByText("replicas must be an integer, but is a string.").waitFor();
    }, { allowed: (text) => text.includes("422") });
  });
});

describe("stream", () => {
  const offline = (text) => /ERR_|Failed to load|503|401/.test(text);
  const opened = () => fixture.requests.filter((each) => each.path.startsWith("stream/"));
  it("takes changes over without a new page", async () => {
    await visit("/", async (page) => {
      const { installations, ...rest } = fixture.document("overview");
      const failed = { ...installations.find((each) => each.ref.name === "blog"), status: { tone: "failed", word: "Failed" } };
      fixture.say("overview", "change", { ...rest, verdict: "4 things need you", pipelines: [], installations: [failed], gonePipelines: [], goneInstallations: [{ kind: "Installation", namespace: "loadtest-eu", name: "loadtest" }] });
      await page.getByRole("heading", { name: "4 things need you" }).waitFor();
      await page.getByRole("row", { name: /loadtest/ }).waitFor({ state: "detached" });
      await page.locator("#said").getByText("4 things need you").waitFor({ state: "attached" });
      assert.equal(opened().length, 1);
    });
  });
  it("has one stream per page, and another after going elsewhere", async () => {
    await visit("/", async (page) => {
      await page.keyboard.press("g");
      await page.keyboard.press("t");
      await page.getByRole("heading", { name: /cannot be read/ }).waitFor();
      await live(page);
      await until(() => [...fixture.streams].every((each) => each.path === "targets"));
      assert.equal(fixture.streams.size, 1);
    });
  });
  it("keeps what was there while it is lost, says since when, and goes on", async () => {
    await visit("/", async (page) => {
      fixture.refuse = 1000;
      fixture.drop();
      await page.getByText(/Not live since \d\d:\d\d\./).waitFor();
      await page.getByText(/You see the state of/).waitFor();
      await page.getByRole("heading", { name: "3 things need you" }).waitFor();
      await accessible(page, "stale page");
      const tries = opened().length;
      await page.getByRole("button", { name: "Try now" }).click();
      await until(() => opened().length > tries);
      fixture.refuse = 0;
      await page.getByText(/Not live since/).first().waitFor({ state: "detached" });
      await live(page);
    }, { allowed: offline });
  });
  it("is closed while the tab is hidden, and resumes", async () => {
    await visit("/", async (page) => {
      const hide = (hidden) => page.evaluate((is) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
      await live(page);
      await hide(true);
      await page.locator(".side .live.paused").waitFor();
      await until(() => fixture.streams.size === 0);
      const heard = String(fixture.eventID);
      await hide(false);
      await live(page);
      assert.equal(opened().length, 2);
      assert.equal(opened()[1].query.after, heard);
    });
  });
  it("says when the server cannot read the cluster", async () => {
    await visit("/targets", async (page) => {
      fixture.say("targets", "problem", { message: "connection refused", since: new Date().toISOString() });
      await page.getByRole("alert").getByText(/connection refused/).waitFor();
      fixture.say("targets", "snapshot", fixture.document("targets"));
      await page.getByRole("alert").waitFor({ state: "detached" });
    });
  });
  it("leads to the login when the session is over, and back", async () => {
    await visit("/targets", async (page) => {
      fixture.loggedIn = false;
      fixture.drop();
      await page.getByRole("heading", { name: /Log in/ }).waitFor();
      await page.getByLabel("Token of Kubernetes").fill("wrong");
      await page.getByRole("button", { name: "Log in with the token" }).click();
      await page.getByText("The token is not valid here.").waitFor();
      await page.getByLabel("Token of Kubernetes").fill("right");
      await page.getByRole("button", { name: "Log in with the token" }).click();
      await page.getByRole("heading", { name: /cannot be read/ }).waitFor();
      assert.ok(!page.url().includes("right"));
    }, { allowed: offline });
  });
});
