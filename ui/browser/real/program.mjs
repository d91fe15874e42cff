// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The programs of the product, as a user starts them.
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { limit } from "./wait.mjs";

/** program is the binary to test: the one that "make build" builds, unless ESPALIER names another. */
export const program = process.env.ESPALIER ?? fileURLToPath(new URL("../../../bin/espalier", import.meta.url));
if (!existsSync(program)) throw new Error(`${program} is missing: run "make build", or name another one with ESPALIER`);

/** Program is a process that runs until it is stopped. */
export class Program {
  output = "";
  #listeners = new Set();

  constructor(file, args, env) {
    this.args = args;
    this.process = spawn(file, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.ended = new Promise((resolve) => this.process.once("exit", (code, signal) => resolve({ code, signal })));
    this.ended.then(() => this.#tell());
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        this.output += text;
        this.#tell();
      });
    }
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }

  /** says waits until the output matches, and returns the match. */
  async says(pattern, seconds = 300) {
    const said = await limit(seconds, () => `${this.args.join(" ")} did not say ${pattern}:\n${this.output}`, new Promise((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(this.output);
        if (match) resolve(match);
        else if (this.process.exitCode !== null || this.process.signalCode !== null) reject(new Error(`${this.args.join(" ")} has ended:\n${this.output}`));
      };
      this.#listeners.add(look);
      look();
    }));
    return said;
  }

  /** stop ends the process with a signal, and kills it after a minute. */
  async stop(signal = "SIGINT") {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return this.ended;
    this.process.kill(signal);
    const surely = setTimeout(() => this.process.kill("SIGKILL"), 60_000);
    const end = await this.ended;
    clearTimeout(surely);
    return end;
  }
}

/** run runs a program, waits for its end, and returns its exit code and output. */
export function run(file, args, env) {
  return new Promise((resolve) => execFile(file, args, { env, timeout: 600_000, maxBuffer: 64 << 20 }, (error, stdout, stderr) => resolve({ code: error ? error.code ?? 1 : 0, stdout, stderr })));
}
