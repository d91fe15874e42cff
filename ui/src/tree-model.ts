// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The tree of an installation, and its job as a waterfall. All of it is pure.
import type { Job, Row, Span } from "./documents";
import { grave } from "./tone";

export type Mode = "all" | "open" | "critical";

/** ancestors returns for each row those above it, the nearest first. */
function ancestors(rows: Row[]): Map<string, string[]> {
  const above = new Map<string, string[]>();
  for (const row of rows) above.set(row.id, row.parent ? [row.parent, ...(above.get(row.parent) ?? [])] : []);
  return above;
}

/** foldable returns the rows that can be folded. */
export function foldable(rows: Row[]): Set<string> {
  return new Set(rows.flatMap((row) => (row.parent ? [row.parent] : [])));
}

/**
 * unfolded returns which rows show what is below them: as the user has set it, else the first, and those above something that has
 * failed.
 */
export function unfolded(rows: Row[], set: ReadonlyMap<string, boolean>): Set<string> {
  const open = new Set<string>();
  const above = ancestors(rows);
  for (const row of rows) {
    if (row.depth === 0) open.add(row.id);
    if (grave(row.status.tone) <= grave("going-failed")) for (const id of above.get(row.id) ?? []) open.add(id);
  }
  for (const [id, isOpen] of set) isOpen ? open.add(id) : open.delete(id);
  return open;
}

/** visible returns the rows on the screen, in order. Modes other than all show rows wherever they are in the tree. */
export function visible(rows: Row[], open: ReadonlySet<string>, mode: Mode): Row[] {
  if (mode === "critical") {
    const path = new Set(criticalPath(rows));
    return rows.filter((row) => path.has(row.id));
  }
  if (mode === "open") return rows.filter((row) => row.status.tone !== "done");
  const shown = new Set<string>();
  const known = new Set(rows.map((row) => row.id));
  return rows.filter((row) => {
    const isShown = !row.parent || !known.has(row.parent) || (shown.has(row.parent) && open.has(row.parent));
    if (isShown) shown.add(row.id);
    return isShown;
  });
}

function time(text: string | undefined): number | undefined {
  if (!text) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

/** endOf returns when a row was done, or undefined if it is not. */
export function endOf(row: Row): number | undefined {
  const last = row.spans[row.spans.length - 1];
  return last ? time(last.end) : undefined;
}

/** worked returns how long a row worked, without its waiting, in seconds; undefined if it has not started. */
export function worked(row: Row, now: number): number | undefined {
  const spans = row.spans.filter((span) => span.what !== "waits");
  if (spans.length === 0) return undefined;
  return spans.reduce((sum, span) => sum + ((time(span.end) ?? now) - (time(span.start) ?? now)) / 1000, 0);
}

/**
 * criticalPath returns the longest chain: from what is done last, or is not done, back along what each waited for last. The
 * earliest comes first.
 */
export function criticalPath(rows: Row[]): string[] {
  const byID = new Map(rows.map((row) => [row.id, row]));
  const waitedFor = new Set(rows.flatMap((row) => row.waitedFor));
  const ends = rows.filter((row) => row.depth > 0 && !waitedFor.has(row.id) && row.waitedFor.length > 0);
  const later = (a: Row, b: Row) => (endOf(b) ?? Infinity) - (endOf(a) ?? Infinity) || 0;
  const chains = ends.map((row) => chainOf(row, byID));
  chains.sort((a, b) => later(a[0] as Row, b[0] as Row) || b.length - a.length);
  return (chains[0] ?? []).map((row) => row.id).reverse();
}

function chainOf(last: Row, byID: Map<string, Row>): Row[] {
  const chain: Row[] = [];
  const seen = new Set<string>();
  for (let row: Row | undefined = last; row && !seen.has(row.id); row = lastWaitedFor(row, byID)) {
    seen.add(row.id);
    chain.push(row);
  }
  return chain;
}

/** lastWaitedFor returns what delayed a row longest. */
export function lastWaitedFor(row: Row, byID: ReadonlyMap<string, Row>): Row | undefined {
  let last: Row | undefined;
  for (const id of row.waitedFor) {
    const other = byID.get(id);
    if (other && (!last || (endOf(other) ?? Infinity) > (endOf(last) ?? Infinity))) last = other;
  }
  return last;
}

export interface Scale { start: number; end: number; now: number; ticks: { at: number; time: number }[] }

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 240, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1000);

/** scaleOf returns the time span of the waterfall: all of the job, with some room after its end. Positions are in percent. */
export function scaleOf(rows: Row[], job: Job | undefined, now: number): Scale | undefined {
  const starts = rows.flatMap((row) => row.spans.map((span) => time(span.start) ?? Infinity));
  const start = time(job?.start) ?? Math.min(Infinity, ...starts.slice(0, 5000));
  if (!Number.isFinite(start)) return undefined;
  const open = rows.some((row) => row.spans.some((span) => !span.end));
  const ends = rows.map((row) => endOf(row) ?? start);
  const last = open && !job?.end ? now : (time(job?.end) ?? ends.reduce((a, b) => Math.max(a, b), start));
  const length = Math.max(last - start, 1000) * 1.075;
  const step = steps.find((each) => length / each <= 5.6) ?? Math.ceil(length / 5 / 604800000) * 604800000;
  const ticks = [];
  for (let at = start; at <= start + length * 0.97; at += step) ticks.push({ at: ((at - start) / length) * 100, time: at });
  return { start, end: start + length, now: ((now - start) / length) * 100, ticks };
}

/** place returns the position of a time on a scale, in percent. */
export function place(scale: Scale, at: number): number {
  return Math.min(100, Math.max(0, ((at - scale.start) / (scale.end - scale.start)) * 100));
}

export interface Bar { what: string; tone: Span["tone"]; x: number; width: number; open: boolean }

/** bars returns the parts of a row on a scale; one in progress ends now. Parts before the job are omitted. */
export function bars(row: Row, scale: Scale, now: number): Bar[] {
  return row.spans.flatMap((span) => {
    const from = time(span.start);
    const to = time(span.end) ?? now;
    if (from === undefined || to < scale.start || from > scale.end) return [];
    const x = place(scale, from);
    return [{ what: span.what, tone: span.tone, x, width: Math.max(place(scale, to) - x, span.what === "waits" ? 0 : 0.4), open: !span.end }];
  });
}
