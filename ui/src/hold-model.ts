// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A list that is being read keeps its rows in place: their content is updated, but new ones wait until requested. All of it is pure.
import type { InstallationRow, Ref } from "./documents";
import type { Line } from "./overview-model";
import { key } from "./refs";
import { gravest } from "./tone";
import { toneOf } from "./overview-model";

/** gone is the word of a row whose object is deleted while its place is kept. */
export const gone = "Gone";

/** renew updates the content of lines, and leaves each in its place. */
export function renew(lines: Line[], latest: ReadonlyMap<string, InstallationRow>): Line[] {
  const now = (row: InstallationRow): InstallationRow => latest.get(key(row.ref)) ?? { ...row, status: { tone: "going", word: gone }, waitsFor: "", progress: { all: 0, done: 0, running: 0, failed: 0, waiting: 0 } };
  return lines.map((line) => {
    if (line.kind === "row") return { ...line, row: now(line.row) };
    const rows = line.group.rows.map(now);
    return { ...line, group: { ...line.group, rows, tone: gravest(rows.map(toneOf)) } };
  });
}

/** freshIn counts the rows that are not in the basis of a list. */
export function freshIn<T extends { ref: Ref }>(rows: T[], basis: T[]): number {
  if (rows === basis) return 0;
  const known = new Set(basis.map((row) => key(row.ref)));
  return rows.filter((row) => !known.has(key(row.ref))).length;
}

/** moved reports whether two lists have different lines, or the same in another order. */
export function moved<T>(a: T[], b: T[], id: (line: T) => string): boolean {
  return a.length !== b.length || a.some((line, i) => id(line) !== id(b[i] as T));
}

/** heldWords returns the label of the button that releases the rows. */
export function heldWords(fresh: number, isMoved: boolean): string {
  return fresh > 0 ? `${fresh} new` : isMoved ? "Sort again" : "";
}
