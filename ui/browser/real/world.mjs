// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A separate control plane with everything in it, and browsers to view it.
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { launch, ready } from "../chromium.mjs";
import { listen } from "../checks.mjs";
import { Cluster } from "./cluster.mjs";
import { program, Program, run } from "./program.mjs";
import { patience } from "./wait.mjs";

export class World {
  #programs = [];

  /** start starts the control plane with its web UI, and the browser. */
  static async start() {
    const world = new World();
    try {
      await world.#start();
    } catch (error) {
      await world.stop();
      throw error;
    }
    return world;
  }

  async #start() {
    this.folder = await mkdtemp(path.join(tmpdir(), "espalier-ui-"));
    const data = path.join(this.folder, "data");
    this.env = { ...process.env, HOME: this.folder, XDG_DATA_HOME: this.folder, KUBECONFIG: path.join(data, "kubeconfig"), PATH: `${await this.#tools()}:${process.env.PATH}` };
    const up = this.program("up", "--data-dir", data, "--ui-addr", "127.0.0.1:0", "--start-timeout", "10m");
    const [, code] = await up.says(/Web UI +(http:\S+)[^]*Ctrl-C/, 600);
    this.cluster = new Cluster(JSON.parse((await this.espalier("kubectl", "config", "view", "--raw", "--minify", "-o", "json")).stdout));
    this.browser = await launch();
    this.admin = await this.enter(code);
  }

  /** #tools puts espalier and kubectl on the path, for commands that the pages show. */
  async #tools() {
    const folder = path.join(this.folder, "bin");
    await mkdir(folder);
    for (const [name, args] of [["espalier", ""], ["kubectl", " kubectl"]]) {
      await writeFile(path.join(folder, name), `#!/bin/sh\nexec "${program}"${args} "$@"\n`);
      await chmod(path.join(folder, name), 0o755);
    }
    return folder;
  }

  async stop() {
    await this.browser?.close();
    this.cluster?.close();
    for (const each of this.#programs.reverse()) await each.stop();
    if (this.folder) await rm(this.folder, { recursive: true, force: true });
  }

  /** program starts espalier with arguments; it is stopped with the world. */
  program(...args) {
    return this.start(program, args);
  }

  /** start starts a build of espalier, optionally in its own environment; it is stopped with the world. */
  start(file, args, env = this.env) {
    const started = new Program(file, args, env);
    this.#programs.push(started);
    return started;
  }

  /** espalier runs a command and waits for its end. */
  espalier(...args) {
    return run(program, args, this.env);
  }

  /** accepted runs a command as a page shows it, which must succeed. */
  async accepted(command) {
    const { code, stdout, stderr } = await run("/bin/sh", ["-c", command], this.env);
    assert.equal(code, 0, `${command} was not accepted:\n${stdout}${stderr}`);
    return stdout;
  }

  /** enter opens a single-use address, and returns the browser's context with its cookie. */
  async enter(address, options = {}) {
    const context = await this.context(options);
    const page = await context.newPage();
    await page.goto(address);
    await ready(page);
    await page.close();
    return Object.assign(context, { address: new URL(address).origin });
  }

  /** context returns a context of the browser whose pages are given as much time as a busy machine needs. */
  async context(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"], ...options });
    context.setDefaultTimeout(patience * 1000);
    return context;
  }

  /** visit opens a page and passes it to a test; it fails if the page had errors meanwhile. */
  async visit(where, test, { as = this.admin, width = 1440, height = 900, colorScheme = "light", allowed = () => false } = {}) {
    const page = await as.newPage();
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const wrong = await listen(page, allowed);
    try {
      await page.goto(as.address + where);
      await ready(page);
      await page.evaluate(() => { window.loadedOnce = true; });
      await test(page);
      assert.deepEqual(wrong, [], `something was wrong on ${where}`);
    } catch (error) {
      const said = await page.locator("body").innerText({ timeout: 10_000 }).catch(() => "nothing that could be read");
      throw new Error(`${error.message}\nThe page ${page.url()} complained of ${JSON.stringify(wrong)} and said:\n${said}`, { cause: error });
    } finally {
      await page.close();
    }
  }

  /** kubeconfig writes a kubeconfig for the token of a service account, and returns the environment that uses it. */
  async kubeconfig(name, token) {
    const file = path.join(this.folder, `${name}.kubeconfig`);
    const config = { ...this.cluster.config, users: [{ name: this.cluster.config.users[0].name, user: { token } }] };
    await writeFile(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  }

  /** token returns a token of a service account, for an hour. */
  async token(namespace, name) {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    return (await this.cluster.call("POST", path, { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } })).status.token;
  }
}

/** notReloaded fails if the page was reloaded since it was visited. */
export async function notReloaded(page) {
  assert.equal(await page.evaluate(() => window.loadedOnce), true, "the page was loaded again");
}

/** example reads a file of an example. */
export const example = (name) => readFile(new URL(`../../../examples/${name}`, import.meta.url), "utf8");
