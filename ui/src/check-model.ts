// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What a look at a target has shown. All of it is pure.
import type { Status, TargetRow } from "./documents";
import { number, secondsBetween } from "./format";

/** soonDays is how many days before its end a certificate is something to think of. */
export const soonDays = 14;

export interface Expiry { state: "fine" | "soon" | "expired"; text: string }

/** expiry is when a certificate or token ends, by word and number. */
export function expiry(expires: string, now: number): Expiry {
  const days = Math.floor(secondsBetween(now, expires) / 86400);
  if (days < 0) return { state: "expired", text: `Expired ${days === -1 ? "today" : `${number(-days - 1)} d ago`}` };
  if (days < soonDays) return { state: "soon", text: days === 0 ? "Soon: ends today" : `Soon: ${number(days)} d left` };
  return { state: "fine", text: `${number(days)} d left` };
}

/** reach is whether a target can be reached, as the last look has shown. */
export function reach(row: TargetRow): Pick<Status, "tone" | "word"> {
  if (!row.check) return row.status;
  return row.check.reachable ? { tone: "done", word: "Reachable" } : { tone: "failed", word: "Unreachable" };
}

/** slowFrom is the number of milliseconds from which on an answer is called slow. */
const slowFrom = 1000;

/** latency is how long a target took to answer. */
export function latency(milliseconds: number): string {
  return milliseconds >= slowFrom ? `${(milliseconds / 1000).toFixed(1)} s, slow` : `${number(milliseconds)} ms`;
}

/** everyMilliseconds is how often a page that is looked at asks for a look at the targets. */
export const everyMilliseconds = 60_000;

/** isDue says whether it is time for the next look. */
export function isDue(last: number | undefined, now: number): boolean {
  return last === undefined || now - last >= everyMilliseconds;
}
