// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// One polite region for screen readers: at most one sentence in five seconds, the most severe first.
export interface Sentence { text: string; gravity: number }

export const apart = 5000;

/**
 * Announcer holds sentences back until the previous one was heard. Of the waiting ones, only the most severe is announced; the
 * others are outdated by then.
 */
export class Announcer {
  private waiting: Sentence[] = [];
  private last = -Infinity;

  add(sentence: Sentence): void {
    if (sentence.text !== "") this.waiting.push(sentence);
  }

  /** take returns the sentence to announce now, if there is one and it is time. */
  take(now: number): string | undefined {
    if (this.waiting.length === 0 || now - this.last < apart) return undefined;
    const gravest = this.waiting.reduce((a, b) => (b.gravity < a.gravity ? b : a));
    this.waiting = [];
    this.last = now;
    return gravest.text;
  }
}
