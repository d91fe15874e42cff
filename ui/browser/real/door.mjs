// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import net from "node:net";

/** freePort finds an unused port outside the range that the system assigns automatically: so it stays free until it is used. */
export async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = net.createServer();
    const free = await new Promise((resolve) => server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true)));
    if (!free) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** Door is a port of this machine that forwards to another one while it is open. Nothing listens there while it is closed. */
export class Door {
  #connections = new Set();

  constructor(to) {
    this.server = net.createServer((from) => {
      const there = net.connect(to, "127.0.0.1");
      for (const [a, b] of [[from, there], [there, from]]) {
        this.#connections.add(a);
        a.on("error", () => b.destroy()).on("close", () => { this.#connections.delete(a); b.destroy(); });
        a.pipe(b);
      }
    });
  }

  /** closed finds a port for the door, and leaves it closed. */
  static async closed(to) {
    return Object.assign(new Door(to), { port: await freePort() });
  }

  open() {
    return new Promise((resolve, reject) => this.server.once("error", reject).listen(this.port, "127.0.0.1", resolve));
  }

  /** close closes all connections. */
  async close() {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const each of this.#connections) each.destroy();
    await closed;
  }
}
