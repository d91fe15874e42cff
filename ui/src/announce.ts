// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// One polite region for screen readers: at most one sentence in five seconds, the most severe first.
import { Announcer } from "./announce-model";
import { Store } from "./store";

export const said = new Store("");
const announcer = new Announcer();
let timer: number | undefined;

/** announce announces a sentence to screen readers. Gravity 0 is the most severe. */
export function announce(text: string, gravity = 5): void {
  announcer.add({ text, gravity });
  window.clearTimeout(timer);
  timer = window.setTimeout(speak, 60);
}

function speak(): void {
  const text = announcer.take(Date.now());
  if (text !== undefined) said.set(text === said.value ? `${text}\u00a0` : text);
  else timer = window.setTimeout(speak, 500);
}
