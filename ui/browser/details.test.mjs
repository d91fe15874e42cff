// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What pages request in addition to their stream (live objects, logs, changes, checks of targets), lists that keep still, long pipelines,
// and users with high contrast, touch, very small and very wide screens.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { views } from "./chromium.mjs";
import * as data from "./data.mjs";
import { accessible, noSidewaysScrolling } from "./checks.mjs";
import { begin, harmless, until } from "./visit.mjs";

const { fixture, visit, tour } = begin();
const asked = (path) => fixture.requests.filter((each) => each.path === path);
const shop = "/installations/shop-dev-sa/shop";
const item = (name, tab) => `${shop}?sel=DeployItem%2Fshop-dev-sa%2F${name}&tab=${tab}`;

/** changed returns the document of the shop in which the deploy item payments-api has another state. */
function changed(tone, word) {
  const doc = fixture.document("installations/shop-dev-sa/shop");
  const row = doc.rows.find((each) => each.id === "DeployItem/shop-dev-sa/payments-api");
  row.status = { ...row.status, tone, word };
  return doc;
}

/** unseen hides a page, which then stops its periodic work; a page that is notified also closes its stream. */
const unseen = (page, hidden, told = true) => page.evaluate(([is, tell]) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
  if (tell) document.dispatchEvent(new Event("visibilitychange"));
}, [hidden, told]);

describe("live objects", () => {
  it("are looked at again every ten seconds while the drawer is open and can be seen", async () => {
    await visit(item("payments-api", "objects"), async (page) => {
      const drawer = page.getByRole("complementary", { name: "DeployItem payments-api" });
      await drawer.getByText("ImagePullBackOff").first().waitFor();
      fixture.answers.live = [200, data.live(Date.now(), "something")];
      await page.clock.fastForward(11_000);
      await drawer.getByText("2 of 2 ready").waitFor();
      await unseen(page, true);
      await drawer.locator('.again [aria-busy="false"]').waitFor();
      const before = asked("live").length;
      await page.clock.fastForward(60_000);
      await page.evaluate(() => fetch("/api/v1/me"));
      assert.equal(asked("live").length, before, "nobody sees it, but it was looked at");
      await unseen(page, false);
      await until(() => asked("live").length > before);
      fixture.answers.live = [403, { message: "You need get on secrets in shop-dev-sa." }];
      await page.clock.fastForward(11_000);
      await page.getByRole("alert").getByText("You need get on secrets").waitFor();
      const refused = asked("live").length;
      await page.clock.fastForward(60_000);
      await page.evaluate(() => fetch("/api/v1/me"));
      assert.equal(asked("live").length, refused, "what was refused was asked for again");
    }, { prepare: (page) => page.clock.install(), allowed: (text) => text.includes("403") });
  });
  it("are a tree down to pods in the drawer, asked for when it is opened, when the row changes and by a button", async () => {
    await visit(item("payments-api", "values"), async (page) => {
      const drawer = page.getByRole("complementary", { name: "DeployItem payments-api" });
      await drawer.waitFor();
      await unseen(page, true, false);
      assert.equal(asked("live").length, 0);
      await drawer.getByRole("tab", { name: /^Objects/ }).click();
      const tree = drawer.getByRole("list", { name: "Objects of payments-api in its target" });
      await tree.getByText("payments-api-5c9d7b6f4-7xk2p").waitFor();
      assert.deepEqual(asked("live").map((each) => each.query), [{ namespace: "shop-dev-sa", name: "payments-api" }]);
      assert.equal(await tree.getByText("ImagePullBackOff").count(), 2);
      await tree.getByText("no match for platform in manifest").first().waitFor();
      await drawer.getByText("4 objects, 3 pods, 5 not ready").waitFor();
      await accessible(page, "live objects");
      await tree.getByRole("button", { name: /of payments-api$/ }).click();
      await tree.getByText("payments-api-5c9d7b6f4-7xk2p").waitFor({ state: "detached" });
      await drawer.getByRole("button", { name: "Look again" }).click();
      await until(() => asked("live").length === 2);
      fixture.answers.live = [200, data.live(Date.now(), "something")];
      const doc = changed("works", "Progressing");
      fixture.say("installations", "snapshot", doc);
      await drawer.getByText("2 of 2 ready").waitFor();
      assert.equal(asked("live").length, 3);
      fixture.say("installations", "snapshot", { ...doc, verdict: "something else" });
      await page.getByRole("heading", { name: "something else" }).waitFor();
      assert.equal(asked("live").length, 3, "an item that has not changed was asked for again");
    });
  });
  it("unfold below their deploy item in the table, and lead to its drawer", async () => {
    await visit(shop, async (page) => {
      const row = page.getByRole("row", { name: /^(Fold|Unfold) payments-api payments-api DeployItem/ });
      assert.equal(await row.getAttribute("aria-expanded"), "false");
      await row.focus();
      await page.keyboard.press("ArrowRight");
      const pod = page.getByRole("row", { name: /payments-api-5c9d7b6f4-7xk2p Pod ImagePullBackOff/ });
      await pod.waitFor();
      assert.equal(asked("live").length, 1);
      assert.ok(Number(await pod.getAttribute("aria-level")) > Number(await row.getAttribute("aria-level")) + 1);
      await accessible(page, "live objects in the table");
      await pod.click();
      await page.getByRole("complementary", { name: "DeployItem payments-api" }).getByRole("tab", { name: /^Objects/, selected: true }).waitFor();
      await row.focus();
      await page.keyboard.press("ArrowLeft");
      await pod.waitFor({ state: "detached" });
    }, { height: 2400 });
  });
  it("open as YAML beside what was rendered, by keyboard, and say when one is gone", async () => {
    await visit(item("payments-api", "objects"), async (page) => {
      const tree = page.getByRole("list", { name: "Objects of payments-api in its target" });
      const opener = tree.locator(".leaf").filter({ hasText: "Deployment in" }).getByRole("button", { name: "payments-api", exact: true });
      const dialog = page.getByRole("dialog");
      const yaml = (of) => dialog.getByLabel(`YAML of ${of}`, { exact: true });
      await opener.focus();
      await page.keyboard.press("Enter");
      await yaml("Deployment payments-api").getByText("unavailableReplicas").waitFor();
      await yaml("Deployment payments-api as it was rendered").waitFor();
      const query = { namespace: "shop-dev-sa", name: "payments-api", objectVersion: "apps/v1", objectKind: "Deployment", objectNamespace: "shop", objectName: "payments-api" };
      assert.deepEqual(asked("live/object").map((each) => each.query), [query]);
      await dialog.getByText("2 values are masked").waitFor();
      await accessible(page, "a live object");
      await dialog.getByRole("button", { name: "Copy the YAML of Deployment payments-api", exact: true }).click();
      await page.waitForFunction(async () => /unavailableReplicas: 3/.test(await navigator.clipboard.readText()));
      await dialog.getByRole("button", { name: "Read it again" }).click();
      await until(() => asked("live/object").length === 2);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      assert.ok(await opener.evaluate((element) => element === document.activeElement), "the focus is not back where it was");
      await tree.getByRole("button", { name: "payments-api-5c9d7b6f4-7xk2p", exact: true }).click();
      await dialog.getByText("Kubernetes has made it").waitFor();
      fixture.answers["live/object"] = [404, { message: "Pod payments-api-5c9d7b6f4-7xk2p is no longer in the cluster." }];
      await dialog.getByRole("button", { name: "Read it again" }).click();
      await dialog.getByRole("alert").getByText("is no longer in the cluster").waitFor();
      assert.equal(await dialog.locator("pre").count(), 0, "what is gone is still shown");
    }, { allowed: (text) => text.includes("404") });
  });
  it("are shown as YAML one at a time where there is little room", async () => {
    await visit(item("payments-api", "objects"), async (page) => {
      await page.getByRole("list", { name: "Objects of payments-api in its target" }).locator(".leaf").filter({ hasText: "Deployment in" }).getByRole("button", { name: "payments-api", exact: true }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("YAML of Deployment payments-api", { exact: true }).waitFor();
      assert.equal(await dialog.locator("pre").count(), 1);
      await dialog.getByRole("button", { name: "As it was rendered" }).click();
      await dialog.getByLabel("YAML of Deployment payments-api as it was rendered", { exact: true }).waitFor();
      await noSidewaysScrolling(page, "a live object");
      await accessible(page, "a live object");
    }, { width: 360, height: 740 });
  });
  it("says why they cannot be looked at, and which right is missing", async () => {
    fixture.answers.live = [403, { message: "You need get on secrets in shop-dev-sa.", command: "kubectl auth can-i get secrets -n shop-dev-sa" }];
    await visit(item("payments-api", "objects"), async (page) => {
      await page.getByRole("alert").getByText("You need get on secrets in shop-dev-sa.").waitFor();
      await page.getByText("kubectl auth can-i get secrets -n shop-dev-sa").first().waitFor();
      fixture.answers.live = [200, { objects: [], message: "dev-sa cannot be reached: connection refused" }];
      await page.getByRole("button", { name: "Look again" }).click();
      await page.getByText("dev-sa cannot be reached: connection refused").waitFor();
      await page.getByRole("alert").waitFor({ state: "detached" });
      await page.getByText("Deployed by it").waitFor();
    }, { allowed: (text) => text.includes("403") });
  });
});

describe("log", () => {
  it("has times and levels by word, filters and copies", async () => {
    await visit(item("payments-api", "log"), async (page) => {
      const log = page.getByRole("list", { name: "Lines about payments-api" });
      await log.getByText("applied Deployment shop/payments-api").waitFor();
      assert.equal(await log.getByRole("listitem").count(), 7);
      assert.equal(await log.getByText("error", { exact: true }).count(), 1);
      assert.match(await log.evaluate((element) => getComputedStyle(element).fontFamily), /mono/i);
      await accessible(page, "log");
      await page.getByRole("button", { name: /^Errors/ }).click();
      assert.equal(await log.getByRole("listitem").count(), 1);
      await page.getByRole("button", { name: "Copy 1 line" }).click();
      await page.waitForFunction(async () => / error Deployment shop\/payments-api was not ready/.test(await navigator.clipboard.readText()));
    });
  });
  it("says where to look if there is nothing", async () => {
    await visit(item("payments-schema", "log"), async (page) => {
      await page.getByText("Nothing has been said about payments-schema").waitFor();
      await page.getByText(/kubectl logs -n espalier-system/).waitFor();
      await accessible(page, "empty log");
    });
  });
});

describe("what a job would change", () => {
  it("is asked for only when somebody wants to know, with signs, folds and masks", async () => {
    await visit(shop, async (page) => {
      const panel = page.getByRole("region", { name: "What would a job change?" });
      await panel.waitFor();
      assert.equal(asked("diff").length, 0);
      await panel.getByRole("button", { name: "Show the changes" }).click();
      await panel.getByText("1 created, 2 changed, 1 deleted").waitFor();
      assert.deepEqual(asked("diff").map((each) => each.query), [{ namespace: "shop-dev-sa", name: "shop" }]);
      assert.match(page.url(), /diff=on/);
      const image = panel.locator(".ln.add").filter({ hasText: "payments-api:2.14.2" });
      assert.match(await image.textContent(), /\+.*added: /s);
      await panel.getByText(/^1 value is masked/).waitFor();
      await panel.getByRole("button", { name: /^payments-api DeployItem shop-dev-sa\/payments-api · of payments/ }).waitFor();
      assert.equal(await panel.getByRole("list", { name: "What cannot be known, or is left out" }).getByRole("listitem").count(), 2);
      await panel.getByRole("button", { name: "10 lines that stay" }).click();
      await panel.getByText("kind: DeployItem").first().waitFor();
      await accessible(page, "changes");
      const long = panel.getByRole("button", { name: /^catalog-settings/ });
      assert.equal(await long.getAttribute("aria-expanded"), "false");
      await long.click();
      await panel.getByText("setting-21: warm").waitFor();
      await panel.getByRole("button", { name: "Compare again" }).click();
      await until(() => asked("diff").length === 2);
      await panel.getByRole("button", { name: "Hide" }).click();
      await panel.getByRole("button", { name: "Show the changes" }).waitFor();
    });
  });
  it("says that nothing would change, and why it is not known", async () => {
    fixture.answers.diff = [200, { objects: [], notes: [], message: "The next job would change nothing." }];
    await visit(`${shop}?diff=on`, async (page) => {
      await page.getByRole("heading", { name: "The next job would change nothing." }).waitFor();
      fixture.answers.diff = [200, { objects: [], notes: ["Not known before the job: what vouchers would be."] }];
      await page.getByRole("button", { name: "Compare again" }).click();
      await page.getByRole("heading", { name: "As far as is known, the next job would change nothing" }).waitFor();
      await page.getByText("what vouchers would be").waitFor();
      fixture.answers.diff = [422, { message: "The blueprint of shop cannot be read: no such tag 1.9.0." }];
      await page.getByRole("button", { name: "Compare again" }).click();
      await page.getByRole("alert").getByText(/no such tag 1\.9\.0/).waitFor();
    }, { allowed: (text) => text.includes("422") });
  });
});

describe("values", () => {
  const part = (name) => `${shop}?sel=Installation%2Fshop-dev-sa%2F${name}&tab=values`;
  const line = (page, name) => page.locator(".drawer .val").filter({ has: page.getByText(name, { exact: true }) });
  it("get types and defaults from a blueprint in a registry, and are shown without while that does not answer", async () => {
    const doc = fixture.document("installations/shop-dev-sa/shop");
    const payments = doc.rows.find((each) => each.id === "Installation/shop-dev-sa/payments");
    Object.assign(payments, { outside: true, imports: payments.imports.filter((each) => each.state !== "default").map(({ type: _, ...each }) => each) });
    fixture.answers.declared = [200, { imports: [], exports: [], defaults: [], message: "The blueprint of payments cannot be read: the registry does not answer." }];
    await visit(part("payments"), async (page) => {
      await line(page, "brokers").waitFor();
      assert.equal(asked("declared").length, 0, "a blueprint that the installation contains was asked for");
      fixture.say("installations", "snapshot", doc);
      await page.getByText("Types and defaults are not shown. The blueprint of payments cannot be read").waitFor();
      assert.match(await line(page, "brokers").innerText(), /data[^]*from\s+kafka/);
      await accessible(page, "values without types");
      delete fixture.answers.declared;
      await page.getByRole("button", { name: "Try again" }).click();
      await line(page, "brokers").getByText("list of string").waitFor();
      await line(page, "replicas").getByText("default of the blueprint").waitFor();
      assert.equal(await page.getByText("Types and defaults").count(), 0);
    });
  });
  it("have a type, say where an import comes from, and that it is the default of its blueprint", async () => {
    await visit(part("payments"), async (page) => {
      assert.match(await line(page, "brokers").innerText(), /list of string[^]*from\s+kafka/);
      const replicas = (await line(page, "replicas").innerText()).split("\n").map((each) => each.trim()).filter(Boolean);
      assert.deepEqual(replicas, ["replicas", "integer", "3", "default of the blueprint"]);
      await page.getByText("3 of 3 are there").waitFor();
      assert.match(await line(page, "apiUrl").innerText(), /string[^]*Not written: payments failed[^]*into\s+apiUrl[^]*for orders/);
    });
  });
  it("say what an export goes into and who takes it, and lead there", async () => {
    await visit(part("postgres"), async (page) => {
      const url = line(page, "url");
      await url.getByText("dbUrl").waitFor();
      assert.match(await url.innerText(), /into\s+dbUrl[^]*for catalog, identity, payments and 2 more/);
      assert.doesNotMatch(await url.innerText(), /from/);
      await accessible(page, "an export");
      await url.getByRole("button", { name: "Show the value of url" }).waitFor();
      await url.getByRole("button", { name: "identity" }).click();
      await page.getByRole("complementary", { name: "Installation identity" }).waitFor();
    });
  });
});

describe("the graph of a blueprint", () => {
  const path = "/blueprints/shop-dev-sa/shop";
  it("leads from imports over parts to exports, with targets set off, by pointer and keys", async () => {
    await visit(path, async (page) => {
      await page.getByText("3 imports, 2 exports, 4 parts.").waitFor();
      const graph = page.getByRole("group", { name: /^Imports, parts and exports/ });
      const node = (name) => graph.getByRole("button", { name });
      const left = async (name) => (await node(name).boundingBox()).x;
      assert.ok(await left(/^cluster kubernetes-cluster target/) < await left(/^database installation/));
      assert.ok(await left(/^addresses exports template/) < await left(/^apiUrl string export/));
      assert.equal(await left(/^url string export/), await left(/^apiUrl string export/));
      assert.equal(await graph.locator("path.edge.target").count(), 3);
      const style = (selector) => graph.locator(selector).first().evaluate((line) => getComputedStyle(line).strokeDasharray);
      assert.notEqual(await style("path.edge.target"), await style("path.edge:not(.target)"));
      const drawer = page.getByRole("complementary", { name: "Schemas" });
      await node(/^api installation/).click();
      const facts = async () => (await drawer.locator(".takes").allInnerTexts()).map((each) => each.split("\n").join(" | "));
      assert.deepEqual(await facts(), ["Takes | dbUrl, dbCredentials from database | replicas | target | cluster", "Gives | apiUrl to addresses"]);
      await graph.getByText("dbUrl, dbCredentials").waitFor();
      await accessible(page, "graph of a blueprint");
      await node(/^api installation/).focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
      await drawer.getByRole("heading", { name: /^(url|apiUrl)$/ }).waitFor();
      assert.match((await facts()).join(), /^Takes \| addresses$/);
    });
  });
});

describe("past jobs", () => {
  it("are listed with result, duration as bars and what was said", async () => {
    await visit(shop, async (page) => {
      const panel = page.getByRole("region", { name: "Past jobs" });
      await panel.getByText("6 of 8 succeeded", { exact: false }).waitFor();
      const rows = panel.locator("tbody tr");
      assert.equal(await rows.count(), 6);
      const failed = rows.filter({ hasText: "0c91de44" });
      await failed.getByText("Failed", { exact: true }).waitFor();
      await failed.getByText("14 min 36 s").waitFor();
      await failed.getByText(/payments-schema has failed 6 times/).waitFor();
      const width = (row) => row.locator("svg rect").nth(1).evaluate((bar) => bar.getBoundingClientRect().width);
      assert.ok(await width(failed) > await width(rows.filter({ hasText: "9e44b0c3" })));
      await panel.getByRole("button", { name: "2 older jobs" }).click();
      assert.equal(await rows.count(), 8);
    });
  });
});

describe("looks at targets", () => {
  for (const path of ["/targets", "/"]) {
    it(`are asked for by ${path} when it opens and each minute, but not while it is hidden`, async () => {
      await visit(path, async (page) => {
        await until(() => asked("checks").length === 1);
        assert.deepEqual(asked("checks").map(({ method, body, type }) => ({ method, body, type })), [{ method: "POST", body: {}, type: "application/json" }]);
        await page.clock.fastForward(61_000);
        await until(() => asked("checks").length === 2);
        await unseen(page, true);
        await page.clock.fastForward(180_000);
        await page.evaluate(() => fetch("/api/v1/me"));
        assert.equal(asked("checks").length, 2);
        await unseen(page, false);
        await until(() => asked("checks").length === 3);
      }, { prepare: (page) => page.clock.install() });
    });
  }
  it("can be asked for by a button, and show what was found", async () => {
    await visit("/targets", async (page) => {
      await until(() => asked("checks").length === 1);
      await page.getByRole("button", { name: "Check now" }).click();
      await until(() => asked("checks").length === 2);
      const row = (name) => page.locator("tbody tr").filter({ has: page.getByText(name, { exact: true }) });
      await row("prod-sa").getByText("Unreachable").waitFor();
      await row("prod-sa").getByText(/^Expired/).waitFor();
      await row("staging-sa").getByText(/^Soon: \d d left$/).waitFor();
      await row("dev-eu").getByText("14 ms").waitFor();
      await row("dev-eu").getByText("1.36.2").waitFor();
      const doc = fixture.document("targets");
      doc.rows.find((each) => each.ref.name === "dev-eu").check = { at: new Date().toISOString(), reachable: false, error: "dial tcp: i/o timeout", milliseconds: 5000 };
      fixture.say("targets", "snapshot", { ...doc, verdict: "2 of 12 targets cannot be read" });
      await row("dev-eu").getByText("Unreachable").waitFor();
      await row("dev-eu").getByText("dial tcp: i/o timeout").waitFor();
      await accessible(page, "targets after a look");
      fixture.answers.checks = [403, { message: "You need get on targets." }];
      await page.getByRole("button", { name: "Check now" }).click();
      await page.getByRole("status").getByText(/You need get on targets/).waitFor();
    }, { allowed: (text) => text.includes("403") });
  });
});

describe("a list that is read", () => {
  const installation = (namespace, name, tone = "done", word = "Succeeded") => ({ ref: { kind: "Installation", namespace, name }, status: { tone, word, since: new Date().toISOString() }, progress: { all: 1, done: 1, running: 0, failed: 0, waiting: 0 }, flow: "Job" });
  const change = (installations, gone = []) => {
    const { now, verdict, needs, soon, hidden } = fixture.document("overview");
    return { now, verdict, needs, soon, hidden, pipelines: [], installations, gonePipelines: [], goneInstallations: gone };
  };
  const names = (page) => page.locator(".rows-body .row").evaluateAll((rows) => rows.sort((a, b) => a.ariaRowIndex - b.ariaRowIndex || Number(a.getAttribute("aria-rowindex")) - Number(b.getAttribute("aria-rowindex"))).map((row) => row.querySelector(".cutoff")?.textContent));
  const send = () => fixture.say("overview", "change", change([installation("aaa-new", "aaa-new"), installation("bbb-new", "bbb-new"), { ...installation("blog", "blog", "failed", "Failed") }], [{ kind: "Installation", namespace: "loadtest-eu", name: "loadtest" }]));
  for (const [how, begin, end] of [
    ["the pointer is on it", (page) => page.getByRole("row", { name: /^analytics/ }).hover(), (page) => page.mouse.move(2, 2)],
    ["it has the focus", (page) => page.getByRole("row", { name: /^analytics/ }).focus(), (page) => page.getByRole("link", { name: "All pipelines" }).focus()],
  ]) {
    it(`keeps its rows in place while ${how}, and says how many are new`, async () => {
      await visit("/", async (page) => {
        await begin(page);
        const before = await names(page);
        send();
        const button = page.getByRole("button", { name: /^2 new/ });
        await button.waitFor();
        assert.deepEqual(await names(page), before);
        await page.getByRole("row", { name: /blog.*Failed/ }).waitFor();
        await page.getByRole("row", { name: /loadtest.*Gone/ }).waitFor();
        await page.locator("#said").getByText(/2 new installations are held back/).waitFor({ state: "attached" });
        await accessible(page, "rows held back");
        await end(page);
        await page.getByRole("row", { name: /aaa-new/ }).waitFor();
        await button.waitFor({ state: "detached" });
        await page.getByRole("row", { name: /loadtest/ }).waitFor({ state: "detached" });
      });
    });
  }
  it("shows them when the button is pressed, and keeps the focus in the list", async () => {
    await visit("/", async (page) => {
      await page.getByRole("row", { name: /^analytics/ }).focus();
      send();
      await page.getByRole("button", { name: /^2 new/ }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("row", { name: /aaa-new/ }).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "row");
      assert.ok((await names(page)).indexOf("blog") < (await names(page)).indexOf("analytics"), "what fails comes first");
    });
  });
  it("can have low rows, and remembers it", async () => {
    await visit("/installations", async (page) => {
      const height = () => page.locator(".rows-body .row").first().evaluate((row) => row.getBoundingClientRect().height);
      assert.equal(await height(), 36);
      await page.getByRole("button", { name: "Compact rows", pressed: false }).click();
      await page.getByRole("button", { name: "Compact rows", pressed: true }).waitFor();
      assert.equal(await height(), 28);
      await accessible(page, "compact rows");
      await page.reload();
      await page.getByRole("button", { name: "Compact rows", pressed: true }).waitFor();
      assert.equal(await height(), 28);
      assert.equal(await page.evaluate(() => localStorage.getItem("espalier.compact")), "true");
    });
  });
});

describe("long pipelines", () => {
  /** overlaps returns parts of a track or board that overlap. */
  const overlaps = (page, parts) => page.evaluate((selector) => [...document.querySelectorAll(".track, .board")].flatMap((track) => {
    const boxes = [...track.querySelectorAll(selector)].map((each) => each.getBoundingClientRect());
    return boxes.slice(1).filter((box, i) => box.left < boxes[i].right - 1 && box.top < boxes[i].bottom - 1).map((box) => `${box.left} in ${track.getAttribute("aria-label")}`);
  }), parts);
  for (const width of [320, 768, 1024, 1440, 1920, 3840]) {
    it(`fit at ${width}`, async () => {
      fixture.scene = "long";
      await tour(["/", "/pipelines/long/eight"], async (page, path) => {
        await page.locator(".track, .board").first().waitFor();
        await noSidewaysScrolling(page, path);
        assert.deepEqual(await overlaps(page, ".env, .at, .envcard, .gatecol"), []);
        // Everything that does not fit can be scrolled to, also with keys, and its edge shows that.
        const hiding = await page.locator(".scroller").evaluateAll((boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== "visible")
          .filter((box) => box.tabIndex !== 0 || !/more-(start|end)/.test(box.className) || getComputedStyle(box).maskImage === "none").map((box) => box.getAttribute("aria-label")));
        assert.deepEqual(hiding, []);
        if (width === 320 || width === 1440) await accessible(page, path);
      }, { width });
    });
  }
  it("begin where somebody has to look, and move by keys", async () => {
    fixture.scene = "long";
    await visit("/", async (page) => {
      const track = page.getByRole("group", { name: "Environments of twelve" });
      await page.locator(".track.more-start").first().waitFor();
      const seen = (text) => track.evaluate((box, name) => {
        const part = [...box.querySelectorAll(".env, .at")].find((each) => each.textContent.includes(name)).getBoundingClientRect();
        return part.left >= box.getBoundingClientRect().left - 2 && part.right <= box.getBoundingClientRect().right + 2;
      }, text);
      assert.ok(await seen("Your approval"));
      await track.focus();
      await page.keyboard.press("End");
      await page.waitForFunction(() => !document.querySelector('[aria-label="Environments of twelve"]').classList.contains("more-end"));
      assert.ok(await seen("prod-gov"));
      await page.keyboard.press("Home");
      await page.waitForFunction(() => !document.querySelector('[aria-label="Environments of twelve"]').classList.contains("more-start"));
    });
  });
  const record = (page) => page.evaluate(() => {
    window.glides = [];
    const animate = Element.prototype.animate;
    Element.prototype.animate = function (frames, options) {
      if (this.dataset?.spot) window.glides.push({ spot: this.dataset.spot, from: frames[0].transform, text: this.textContent });
      return animate.call(this, frames, options);
    };
  });
  for (const motion of ["no-preference", "reduce"]) {
    it(motion === "reduce" ? "do not glide for who wants no motion" : "have revisions that glide to the next environment", async () => {
      await visit("/pipelines/long/five", async (page) => {
        await record(page);
        const doc = fixture.document("pipelines/long/five");
        const environments = data.promoted(doc.environments.map(({ approval: _, ...env }) => ({ ...env, actions: [] })));
        fixture.say("pipelines", "snapshot", { ...doc, verdict: "2.4.0 arrived", environments });
        await page.getByRole("heading", { name: "2.4.0 arrived" }).waitFor();
        const glides = await page.evaluate(() => window.glides);
        if (motion === "reduce") return assert.deepEqual(glides, []);
        assert.deepEqual(glides.map((each) => each.spot), ["card/staging", "card/prod"]);
        assert.match(glides[0].from, /^translate\(-\d/);
      }, { reducedMotion: motion });
    });
  }
});

describe("decisions", () => {
  const preview = {
    text: "Brings 1.8.2 to 4 targets of prod.", objects: [{ kind: "Pipeline", namespace: "shop", name: "shop" }],
    promotion: {
      environment: "prod", revision: "1.8.2", warnings: ["A target runs a higher version now: this is a downgrade."],
      targets: ["ap", "eu", "sa", "us"].map((name) => ({ cluster: `prod-${name}`, namespace: "shop", from: name === "us" ? "1.9.0" : "1.8.1", to: "1.8.2", ready: name !== "sa" })),
      approvals: "Not approved yet. One approval is enough.", request: data.request(221, "open"),
      passed: [{ kind: "soak", label: "Soak 24 h", state: "passed" }], left: [{ kind: "window", label: "Window", state: "counting", detail: "opens at 17:00" }],
      changes: [{ object: "https://git.example.org/shop/fleet, branch main", field: "values", before: "1.8.1", after: "1.8.2" }],
      then: ["It waits first: Window.", "A pull request into main is opened. It must be merged there."],
    },
  };
  for (const width of [320, 1440]) {
    it(`say before what they come to, at ${width}`, async () => {
      fixture.answers.preview = [200, preview];
      await visit("/pipelines/shop/shop", async (page) => {
        await page.getByRole("button", { name: "Approve 1.8.2 for prod", exact: true }).first().click();
        const dialog = page.getByRole("dialog");
        await dialog.getByText("this is a downgrade").waitFor();
        const rows = (await dialog.getByRole("list", { name: "Targets of prod" }).getByRole("listitem").allTextContents());
        assert.deepEqual(rows, ["prod-ap1.8.1 → 1.8.2", "prod-eu1.8.1 → 1.8.2", "prod-sa1.8.1 → 1.8.2, not ready now", "prod-us1.9.0 → 1.8.2"]);
        for (const text of ["Not approved yet. One approval is enough.", "Soak 24 h", "Window: opens at 17:00", "It waits first: Window."]) await dialog.getByText(text, { exact: true }).waitFor();
        await dialog.getByRole("link", { name: "Pull request #221" }).waitFor();
        await accessible(page, "preview of a decision");
        await noSidewaysScrolling(page, "preview of a decision");
        assert.equal(fixture.requests.filter((each) => each.path === "actions").length, 0);
      }, { width });
    });
  }
  it("show hostile words as words", async () => {
    fixture.answers.preview = [200, data.hostile(preview)];
    await visit("/pipelines/shop/shop", async (page) => {
      await page.getByRole("button", { name: "Approve 1.8.2 for prod", exact: true }).first().click();
      await page.getByRole("dialog").locator(".decision").waitFor();
      await noSidewaysScrolling(page, "hostile preview");
    });
  });
});

describe("pull requests", () => {
  const path = "/pipelines/shop/shop";
  /** withRequest returns the page on which the promotion to prod has a pull request. */
  const withRequest = (verdict, request) => {
    const doc = fixture.document("pipelines/shop/shop");
    const environments = doc.environments.map((env) => (env.name === "prod" ? { ...env, approval: undefined, request } : env));
    const lanes = doc.lanes.map((lane) => (lane.revision === "1.8.2" ? { ...lane, marks: lane.marks.map((mark) => (mark.environment === "prod" ? { ...mark, request } : mark)) } : lane));
    return { ...doc, verdict, environments, lanes };
  };
  it("are links with number and state, at the gates and in the lanes", async () => {
    await visit(path, async (page) => {
      const lane = (revision) => page.locator(".lanes tbody tr").filter({ has: page.getByText(revision, { exact: true }) });
      const merged = lane("1.8.1").getByRole("link", { name: /^#198\s*Pull request #198 merged by user/ });
      assert.equal(await merged.getAttribute("href"), "https://git.example.org/shop/fleet/pulls/198");
      assert.equal(await merged.getAttribute("rel"), "noreferrer");
      await lane("1.8.0").getByRole("link", { name: /#187 closed by Jun/ }).waitFor();
      const gates = page.getByRole("group", { name: "Gates from staging to prod" });
      assert.equal(await gates.getByRole("link").count(), 0);
      fixture.say("pipelines", "snapshot", withRequest("1.8.2 waits to be merged", data.request(221, "open")));
      const link = gates.getByRole("link", { name: "Pull request #221" });
      await link.waitFor();
      assert.equal(await link.getAttribute("href"), "https://git.example.org/shop/fleet/pulls/221");
      await gates.getByText("open", { exact: true }).waitFor();
      await lane("1.8.2").getByRole("link", { name: /#221 open$/ }).waitFor();
      await accessible(page, "pull request that is open");
      const checks = { state: "failed", url: "https://git.example.org/shop/fleet/pulls/221/checks", total: 9, passed: 6, failed: 2, running: 1, failedNames: ["build", "lint"] };
      fixture.say("pipelines", "snapshot", withRequest("1.8.2 has checks that fail", data.request(221, "open", { checks })));
      const failing = gates.getByRole("link", { name: "Checks failed: build, lint; 1 still running" });
      await failing.waitFor();
      assert.equal(await failing.getAttribute("href"), checks.url);
      await accessible(page, "checks that fail");
      fixture.say("pipelines", "snapshot", withRequest("1.8.2 has checks that pass", data.request(221, "open", { checks: { ...checks, state: "passed", passed: 9, failed: 0, running: 0, failedNames: [], url: "javascript:alert(1)" } })));
      const passing = gates.getByRole("link", { name: "9 checks passed" });
      await passing.waitFor();
      assert.equal(await passing.getAttribute("href"), data.request(221, "open").url, "an address to run is none: the pull request has a page");
      fixture.say("pipelines", "snapshot", withRequest("1.8.2 rolls out", data.request(221, "merged", { by: "Kim", time: new Date().toISOString() })));
      await gates.getByText("merged by Kim").waitFor();
      fixture.say("pipelines", "snapshot", withRequest("an address to run", { ...data.request(221, "open"), url: "javascript:document.title='broken'" }));
      await page.getByRole("heading", { name: "an address to run" }).waitFor();
      await gates.getByText("Pull request #221").waitFor();
      assert.equal(await gates.getByRole("link").count() + await lane("1.8.2").getByRole("link", { name: /#221/ }).count(), 0);
      await harmless(page);
    });
  });
});

describe("readers", () => {
  it("with high contrast see what is chosen, what fails and what changes without tints", async () => {
    await tour([...views.map((view) => view.path), item("payments-api", "log"), `${shop}?diff=on`], async (page, path) => {
      assert.ok(await page.evaluate(() => matchMedia("(forced-colors: active)").matches));
      await noSidewaysScrolling(page, path);
      const style = (selector, name) => page.locator(selector).first().evaluate((element, property) => getComputedStyle(element)[property], name);
      if (path !== "/access") assert.notEqual(await style(".nav a[aria-current]", "backgroundColor"), await style(".nav a:not([aria-current])", "backgroundColor"));
      for (const button of await page.locator("main .btn:not(.quiet)").all()) assert.notEqual(await button.evaluate((element) => getComputedStyle(element).borderTopWidth), "0px");
      if (path.includes("tab=log")) {
        await page.locator(".log li.error").waitFor();
        assert.equal(await style(".log li.error", "borderLeftWidth"), "4px");
        assert.notEqual(await style('.seg button[aria-selected="true"]', "backgroundColor"), await style('.seg button[aria-selected="false"]', "backgroundColor"));
      }
      if (path.includes("diff=on")) {
        await page.locator(".diff .ln.add").first().waitFor();
        assert.equal(await style(".diff .ln.add", "borderLeftStyle"), "solid");
        assert.equal(await style(".diff .ln.del", "borderLeftStyle"), "double");
      }
    }, { forcedColors: "active" });
  });
  for (const [width, height, isMobile] of [[390, 844, true], [1024, 768, true]]) {
    it(`with fingers find nothing too small at ${width}`, async () => {
      await tour([...views.map((view) => view.path), item("payments-api", "objects"), item("payments-api", "log"), `${shop}?diff=on`], async (page, path) => {
        assert.ok(await page.evaluate(() => matchMedia("(pointer: coarse)").matches));
        if (path.includes("tab=objects")) await page.locator(".livetree").waitFor();
        if (path.includes("tab=log")) await page.locator(".log").waitFor();
        if (path.includes("diff=on")) await page.locator(".objdiffs").waitFor();
        await noSidewaysScrolling(page, path);
        const small = await page.evaluate(() => [...document.querySelectorAll("a[href], button, input, select, summary, [role=row][tabindex]")].flatMap((element) => {
          const box = element.getBoundingClientRect();
          if (box.width === 0 || element.closest(".sr, .skip") || element.tagName === "INPUT" && element.closest("label")?.getBoundingClientRect().height >= 24) return [];
          const least = element.classList.contains("btn") ? 44 : 24;
          // A name in a row is not the click target: the row is, which does the same.
          const rows = element.closest("[role=row]") && element.tagName === "A" ? element.closest("[role=row]").getBoundingClientRect() : box;
          return rows.height < least - 0.5 || rows.width < 23.5 ? [`${element.outerHTML.slice(0, 120)} is ${Math.round(box.width)} × ${Math.round(box.height)}`] : [];
        }));
        assert.deepEqual(small, [], `too small for a finger on ${path}`);
      }, { width, height, isMobile, hasTouch: true });
    });
  }
  it("with fingers read by a tap what others read by hovering", async () => {
    await visit(shop, async (page) => {
      await page.locator(".timeline time[title]").first().tap();
      await page.locator(".toast").getByText(/\d{4}, \d\d:\d\d:\d\d/).waitFor();
    }, { width: 390, height: 844, isMobile: true, hasTouch: true });
  });
  for (const scene of ["little", "hostile"]) {
    for (const [width, height] of [[320, 640], [3840, 2160]]) {
      it(`with a screen of ${width} see all of it, ${scene}`, async () => {
        fixture.scene = scene;
        await tour([...views.map((view) => (width < 768 ? view.path.replace(/\?.*/, "") : view.path)), item("payments-api", "objects"), item("payments-api", "log"), `${shop}?diff=on`], async (page, path) => {
          await page.locator(path.includes("tab=objects") ? ".livetree" : path.includes("tab=log") ? ".log" : path.includes("diff=on") ? ".objdiffs" : "main h1").first().waitFor();
          await noSidewaysScrolling(page, path);
          await harmless(page);
          if (/tab=|diff=/.test(path)) await accessible(page, path);
          const wide = await page.evaluate(() => [...document.querySelectorAll("main p")].filter((p) => p.getBoundingClientRect().width > 1000).map((p) => p.textContent.slice(0, 60)));
          assert.deepEqual(wide, [], `lines are too long on ${path}`);
          assert.ok((await page.locator("main").boundingBox()).width <= 1680);
        }, { width, height });
      });
    }
  }
});

describe("session", () => {
  it("can be begun at the identity provider, and comes back to the page", async () => {
    fixture.loggedIn = false;
    await visit("/login?next=%2Ftargets%3Fq%3Ddev", async (page) => {
      const link = page.getByRole("link", { name: "Log in with Example SSO" });
      assert.equal(await link.getAttribute("href"), "/auth/oidc/login?return=%2Ftargets%3Fq%3Ddev");
      const gone = page.waitForRequest((request) => request.url().includes("/auth/oidc/login"));
      await link.click();
      assert.ok((await gone).isNavigationRequest());
    }, { allowed: (text) => text.includes("401") });
  });
  it("lists the calls of the server, and those it knows if the server has no list", async () => {
    await visit("/access", async (page) => {
      await page.getByRole("row", { name: /Approve a promotion POST \/api\/v1\/actions patch on pipelines/ }).waitFor();
      await page.getByRole("region", { name: "Calls that read" }).getByText("POST /api/v1/checks").waitFor();
      const own = page.getByRole("region", { name: "What the server reads with its own rights" });
      await own.getByRole("row", { name: /Installations, for all readers list, watch installations\.landscaper\.gardener\.cloud/ }).waitFor();
      assert.equal(await own.getByRole("button").count(), 0);
    });
    fixture.answers.access = [404, { message: "There is no access." }];
    await visit("/access", (page) => page.getByText("Delete an installation").waitFor(), { allowed: (text) => text.includes("404") });
  });
  it("takes nothing that the server says of a person, an action or a rendering for anything but text", async () => {
    fixture.scene = "hostile";
    await tour(["/access", shop, "/blueprints/shop-dev-sa/shop"], async (page, path) => {
      if (path === shop) {
        await page.keyboard.press("r");
        const dialog = page.getByRole("dialog");
        await until(() => asked("preview").length > 0);
        await dialog.locator("summary").click();
        await dialog.getByText("Installation").first().waitFor();
        assert.equal(await page.locator("dialog script, dialog img").count(), 0, "text of a preview has become elements");
        await noSidewaysScrolling(page, "question");
        await accessible(page, "hostile question");
        await dialog.locator("button[type=submit]").click();
        await page.locator(".toast").waitFor();
        await dialog.waitFor({ state: "detached" });
      } else if (path.startsWith("/blueprints")) {
        await page.getByLabel("Values, as YAML").fill("replicas: 3");
        await page.getByRole("button", { name: "Render" }).click();
        await page.locator(".rendered pre").waitFor();
      } else {
        await page.getByRole("heading", { name: /^You are / }).waitFor();
      }
      await noSidewaysScrolling(page, path);
      await accessible(page, path);
      await harmless(page);
    });
  });
  it("shows what an action would affect before it is done", async () => {
    await visit(shop, async (page) => {
      await page.keyboard.press("r");
      await page.getByRole("dialog").getByText("reconcile affects 2 objects of shop.").waitFor();
      assert.deepEqual(asked("preview").map((each) => each.query), [{ action: "reconcile", kind: "Installation", namespace: "shop-dev-sa", name: "shop" }]);
    });
  });
});
