// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The list of installations: changes, groups, filters, search. All of it is pure.
import type { InstallationRow, Overview, OverviewChange, Tone } from "./documents";
import { key } from "./refs";
import { grave, gravest } from "./tone";

/** applyChange applies a change to an overview. Unchanged rows stay the same objects. */
export function applyChange(before: Overview, change: OverviewChange): Overview {
  return {
    ...before, now: change.now, verdict: change.verdict, needs: change.needs, soon: change.soon, hidden: change.hidden,
    pipelines: merge(before.pipelines, change.pipelines, change.gonePipelines.map(key)),
    installations: merge(before.installations, change.installations, change.goneInstallations.map(key)),
  };
}

function merge<T extends { ref: { kind: string; namespace: string; name: string } }>(before: T[], changed: T[], gone: string[]): T[] {
  if (changed.length === 0 && gone.length === 0) return before;
  const next = new Map(before.map((row) => [key(row.ref), row]));
  for (const name of gone) next.delete(name);
  for (const row of changed) next.set(key(row.ref), row);
  return [...next.values()];
}

export const filters = ["all", "failing", "running", "succeeded", "other"] as const;
export type Filter = (typeof filters)[number];

/** toneOf returns the state of an installation including everything below it: it fails as soon as something in it has failed. */
export function toneOf(row: InstallationRow): Tone {
  return row.progress.failed > 0 && row.status.tone !== "going-failed" ? "failed" : row.status.tone;
}

/** filterOf returns the filter under which a state is counted. */
export function filterOf(tone: Tone): Filter {
  if (tone === "failed" || tone === "going-failed") return "failing";
  if (tone === "works") return "running";
  if (tone === "done") return "succeeded";
  return "other";
}

/** counts returns the number of rows for each filter. */
export function counts(rows: InstallationRow[]): Record<Filter, number> {
  const of: Record<Filter, number> = { all: rows.length, failing: 0, running: 0, succeeded: 0, other: 0 };
  for (const row of rows) of[filterOf(toneOf(row))]++;
  return of;
}

/** withWords keeps the rows in which every word of the text occurs, ignoring case. */
export function withWords<T>(rows: T[], text: string, hay: (row: T) => (string | undefined)[]): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const all = hay(row).join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** search searches names, states, versions and what an installation waits for. */
export function search(rows: InstallationRow[], text: string): InstallationRow[] {
  return withWords(rows, text, (row) => [row.ref.name, row.ref.namespace, row.component, row.version, row.status.word, row.waitsFor]);
}

export const groupings = ["name", "namespace", "state", "nothing"] as const;
export type Grouping = (typeof groupings)[number];

export interface Group { id: string; title: string; tone: Tone; rows: InstallationRow[] }

/** groupRows groups rows, the most severe first, then by name. */
export function groupRows(rows: InstallationRow[], by: Grouping): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const title = by === "name" ? row.ref.name : by === "namespace" ? row.ref.namespace : by === "state" ? row.status.word : "";
    const id = by === "nothing" ? key(row.ref) : title;
    const group = groups.get(id);
    if (group) group.rows.push(row);
    else groups.set(id, { id, title, tone: "done", rows: [row] });
  }
  for (const group of groups.values()) {
    group.tone = gravest(group.rows.map(toneOf));
    group.rows.sort(byGravity);
  }
  return [...groups.values()].sort((a, b) => grave(a.tone) - grave(b.tone) || compare(a.id, b.id));
}

function byGravity(a: InstallationRow, b: InstallationRow): number {
  return grave(toneOf(a)) - grave(toneOf(b)) || compare(a.ref.name, b.ref.name) || compare(a.ref.namespace, b.ref.namespace);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export type Line =
  | { kind: "group"; id: string; group: Group; open: boolean }
  | { kind: "row"; id: string; row: InstallationRow; inside: boolean }
  | { kind: "more"; id: string; group: Group; count: number };

/** quietAtMost is how many succeeded rows an open group shows before it folds them into "10 more, all succeeded". */
const quietAtMost = 3;

/** isOpen reports whether a group is unfolded: as the user has set it, else if something in it failed. */
export function isOpen(group: Group, set: ReadonlyMap<string, boolean>): boolean {
  return set.get(group.id) ?? grave(group.tone) <= grave("going-failed");
}

/** lines returns the rows of the list on the screen, in order. A group of one is shown as its row. */
export function lines(groups: Group[], set: ReadonlyMap<string, boolean>): Line[] {
  const all: Line[] = [];
  for (const group of groups) {
    const only = group.rows.length === 1 ? group.rows[0] : undefined;
    if (only) {
      all.push({ kind: "row", id: key(only.ref), row: only, inside: false });
      continue;
    }
    const open = isOpen(group, set);
    all.push({ kind: "group", id: `group/${group.id}`, group, open });
    if (open) all.push(...inside(group, set.get(`more/${group.id}`) === true));
  }
  return all;
}

function inside(group: Group, everything: boolean): Line[] {
  const quiet = group.rows.filter((row) => toneOf(row) === "done").length;
  const loud = group.rows.length - quiet;
  const fold = !everything && loud > 0 && quiet > quietAtMost;
  const shown = fold ? group.rows.slice(0, loud + 1) : group.rows;
  const rows: Line[] = shown.map((row) => ({ kind: "row", id: key(row.ref), row, inside: true }));
  if (fold) rows.push({ kind: "more", id: `more/${group.id}`, group, count: quiet - 1 });
  return rows;
}

/** groupWords returns the state of a group: "1 failing", "2 running", or the word that all share. */
export function groupWords(group: Group): string {
  const by = (wanted: Filter) => group.rows.filter((row) => filterOf(toneOf(row)) === wanted).length;
  const failing = by("failing");
  if (failing > 0) return `${failing} failing`;
  const worst = group.rows.filter((row) => toneOf(row) === group.tone);
  const word = worst[0]?.status.word ?? "";
  if (worst.length === group.rows.length && worst.every((row) => row.status.word === word)) return word;
  return group.tone === "works" ? `${worst.length} running` : `${worst.length} ${word}`;
}
