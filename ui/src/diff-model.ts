// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What the next job would change. All of it is pure.
import type { Diff, DiffLine, ObjectDiff } from "./documents";
import { count, number } from "./format";

/** mask is what the server writes for a hidden value. */
export const mask = "<masked>";

export interface Tally { added: number; removed: number; masked: number }

/** tally counts the added and removed lines of an object, and its hidden values: a changed one has two lines. */
export function tally(object: ObjectDiff): Tally {
  const of = (op: string) => object.lines.filter((line) => line.op === op);
  const masked = (op: string) => of(op).filter((line) => line.text.includes(mask)).length;
  return { added: of("+").length, removed: of("-").length, masked: masked(" ") + Math.max(masked("+"), masked("-")) };
}

/** maskedWords describes hidden values. */
export function maskedWords(masked: number): string {
  if (masked === 0) return "";
  return masked === 1 ? "1 value is masked, since it comes from a Secret or Target." : `${number(masked)} values are masked, since they come from Secrets or Targets.`;
}

const changes: Record<string, { word: string; icon: string; colour: string }> = {
  create: { word: "created", icon: "plus", colour: "s-done" }, update: { word: "changed", icon: "edit", colour: "s-running" }, delete: { word: "deleted", icon: "trash", colour: "s-failed" },
};

/** changeLook returns the shape, word and colour of a change. */
export function changeLook(change: string): { word: string; icon: string; colour: string } {
  return changes[change] ?? { word: change, icon: "edit", colour: "s-idle" };
}

/** diffWords returns a summary: "1 created, 2 changed, 1 deleted". */
export function diffWords(diff: Diff): string {
  const words = Object.entries(changes).map(([change, { word }]) => ({ word, n: diff.objects.filter((object) => object.change === change).length }));
  return words.filter((each) => each.n > 0).map((each) => `${number(each.n)} ${each.word}`).join(", ");
}

/** longFrom is the number of lines from which an object is folded at first. */
const longFrom = 40;

/** isLong reports whether an object is folded at first. */
export function isLong(object: ObjectDiff): boolean {
  return object.lines.length >= longFrom;
}

/** around is how many unchanged lines are shown before and after changed ones. */
const around = 3;

export type Piece = { kind: "line"; line: DiffLine; old?: number; new?: number } | { kind: "gap"; from: number; lines: number };

/** pieces numbers the lines, and folds unchanged ones far from any change. Gaps that the user has opened are shown. */
export function pieces(lines: DiffLine[], opened: ReadonlySet<number> = new Set()): Piece[] {
  const near = new Set<number>();
  lines.forEach((line, i) => {
    if (line.op !== " ") for (let j = i - around; j <= i + around; j++) near.add(j);
  });
  const out: Piece[] = [];
  let [before, after] = [0, 0];
  let gap: { kind: "gap"; from: number; lines: number } | undefined;
  lines.forEach((line, i) => {
    if (line.op !== "+") before++;
    if (line.op !== "-") after++;
    if (!near.has(i) && gap && gap.from + gap.lines === i) {
      gap.lines++;
      if (opened.has(gap.from)) out.push(numbered(line, before, after));
      return;
    }
    if (!near.has(i)) {
      gap = { kind: "gap", from: i, lines: 1 };
      out.push(opened.has(i) ? numbered(line, before, after) : gap);
    } else out.push(numbered(line, before, after));
  });
  return out;
}

function numbered(line: DiffLine, before: number, after: number): Piece {
  return { kind: "line", line, ...(line.op !== "+" ? { old: before } : {}), ...(line.op !== "-" ? { new: after } : {}) };
}

/** diffText returns the text to copy, in the format of the program diff. */
export function diffText(object: ObjectDiff): string {
  return object.lines.map((line) => `${line.op}${line.text}`).join("\n");
}

/** placeWords returns the path to what creates an object: "shop › database". */
export function placeWords(within: string): string {
  return within.split("/").join(" › ");
}

/** sizeWords describes how much of an object changes. */
export function sizeWords(of: Tally): string {
  return [of.added > 0 && `${count(of.added, "line")} added`, of.removed > 0 && `${count(of.removed, "line")} removed`].filter(Boolean).join(", ");
}
