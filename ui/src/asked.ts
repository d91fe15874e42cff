// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Answers that are asked for by name, and asked for again when what they are about has changed. What was there stays until the next one comes.
import { Refusal } from "./refusal";
import { Store } from "./store";

export interface Asked<T> {
  answer?: T;
  refused?: Refusal;
  asking: boolean;
  /** at is when the answer came, by this machine's clock. */
  at?: number;
}

interface Entry { stamp: string; serial: number }

/** Book keeps the last answer to each question. An answer that comes after a later question is thrown away. */
export class Book<T> {
  readonly pages = new Store<ReadonlyMap<string, Asked<T>>>(new Map());
  private entries = new Map<string, Entry>();
  private serial = 0;

  constructor(private ask: (name: string) => Promise<T>, private clock: () => number = Date.now) {}

  /** want asks unless it has asked with the same stamp before. */
  want(name: string, stamp: string): void {
    if (this.entries.get(name)?.stamp !== stamp) this.again(name, stamp);
  }

  /** again asks in any case. */
  again(name: string, stamp = this.entries.get(name)?.stamp ?? ""): void {
    const entry = { stamp, serial: ++this.serial };
    this.entries.set(name, entry);
    this.put(name, { ...this.pages.value.get(name), asking: true });
    const isLast = () => this.entries.get(name)?.serial === entry.serial;
    this.ask(name).then(
      (answer) => isLast() && this.put(name, { answer, asking: false, at: this.clock() }),
      (error: unknown) => isLast() && this.put(name, { ...this.pages.value.get(name), refused: refusalOf(error), asking: false }));
  }

  private put(name: string, page: Asked<T>): void {
    this.pages.set(new Map(this.pages.value).set(name, page));
  }
}

/** refusalOf makes a refusal of anything that was thrown. */
export function refusalOf(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal(0, String(error));
}
