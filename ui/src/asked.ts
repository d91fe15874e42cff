// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Answers that are requested by name, and again when their subject has changed. The previous answer stays until the next one arrives.
import { Refusal } from "./refusal";
import { Store } from "./store";

export interface Asked<T> {
  answer?: T;
  refused?: Refusal;
  asking: boolean;
  /** at is when the answer arrived, by this machine's clock. */
  at?: number;
}

interface Entry { stamp: string; serial: number }

/** Book keeps the last answer to each question. An answer that arrives after a later question is discarded. */
export class Book<T> {
  readonly pages = new Store<ReadonlyMap<string, Asked<T>>>(new Map());
  private entries = new Map<string, Entry>();
  private serial = 0;

  constructor(private ask: (name: string) => Promise<T>, private clock: () => number = Date.now) {}

  /** want sends the request unless it was already sent with the same stamp. */
  want(name: string, stamp: string): void {
    if (this.entries.get(name)?.stamp !== stamp) this.again(name, stamp);
  }

  /** again always sends the request. */
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

/** refusalOf converts anything that was thrown to a Refusal. */
export function refusalOf(error: unknown): Refusal {
  return error instanceof Refusal ? error : new Refusal(0, String(error));
}
