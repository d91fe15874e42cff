// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// One polite region for screen readers: at most one sentence in five seconds, the gravest first.
export interface Sentence { text: string; gravity: number }

export const apart = 5000;

/** Announcer holds sentences back until the one before was heard. Of those that wait, only the gravest is said; the others are old by then. */
export class Announcer {
  private waiting: Sentence[] = [];
  private last = -Infinity;

  add(sentence: Sentence): void {
    if (sentence.text !== "") this.waiting.push(sentence);
  }

  /** take gives the sentence to say now, if there is one and its time has come. */
  take(now: number): string | undefined {
    if (this.waiting.length === 0 || now - this.last < apart) return undefined;
    const gravest = this.waiting.reduce((a, b) => (b.gravity < a.gravity ? b : a));
    this.waiting = [];
    this.last = now;
    return gravest.text;
  }
}
