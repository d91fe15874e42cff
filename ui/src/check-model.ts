// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Results of checking a target. All of it is pure.
import type { Status, TargetRow } from "./documents";
import { number, secondsBetween } from "./format";

/** soonDays is how many days before its expiry a certificate is flagged. */
export const soonDays = 14;

export interface Expiry { state: "fine" | "soon" | "expired"; text: string }

/** expiry returns when a certificate or token expires, as a word and a number. */
export function expiry(expires: string, now: number): Expiry {
  const days = Math.floor(secondsBetween(now, expires) / 86400);
  if (days < 0) return { state: "expired", text: `Expired ${days === -1 ? "today" : `${number(-days - 1)} d ago`}` };
  if (days < soonDays) return { state: "soon", text: days === 0 ? "Soon: ends today" : `Soon: ${number(days)} d left` };
  return { state: "fine", text: `${number(days)} d left` };
}

/** reach returns whether a target is reachable, according to the last check. */
export function reach(row: TargetRow): Pick<Status, "tone" | "word"> {
  if (!row.check) return row.status;
  return row.check.reachable ? { tone: "done", word: "Reachable" } : { tone: "failed", word: "Unreachable" };
}

/** slowFrom is the number of milliseconds from which an answer counts as slow. */
const slowFrom = 1000;

/** latency returns how long a target took to answer. */
export function latency(milliseconds: number): string {
  return milliseconds >= slowFrom ? `${(milliseconds / 1000).toFixed(1)} s, slow` : `${number(milliseconds)} ms`;
}

/** everyMilliseconds is how often a visible page requests a check of the targets. */
export const everyMilliseconds = 60_000;

/** isDue reports whether it is time for the next check. */
export function isDue(last: number | undefined, now: number): boolean {
  return last === undefined || now - last >= everyMilliseconds;
}
