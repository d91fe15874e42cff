// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Words for times and counts, as in section 10 of the design: units with a space, counts as "9 of 13".
import type { Progress } from "./documents";

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const digits = new Intl.NumberFormat("en-GB");

/** number formats 10000 as 10,000. */
export function number(n: number): string {
  return digits.format(n);
}

/** count returns "1 installation", "2 installations". */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${number(n)} ${n === 1 ? one : many}`;
}

/** age formats how long ago something was, in one unit: "41 min", "2 h", "9 d". */
export function age(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < minute) return `${s} s`;
  if (s < hour) return `${Math.floor(s / minute)} min`;
  if (s < 2 * day) return `${Math.floor(s / hour)} h`;
  return `${number(Math.floor(s / day))} d`;
}

/** duration formats how long something took, in at most two units: "1 min 35 s", "4 d 2 h". */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < minute) return `${s} s`;
  if (s < hour) return two(s, minute, "min", 1, "s");
  if (s < 2 * day) return two(s, hour, "h", minute, "min");
  return two(s, day, "d", hour, "h");
}

function two(s: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((s % big) / small);
  const head = `${number(Math.floor(s / big))} ${bigName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/** secondsBetween is negative if the second time is earlier, and 0 if a time is invalid. */
export function secondsBetween(from: string | number | Date, to: string | number | Date): number {
  const seconds = (new Date(to).getTime() - new Date(from).getTime()) / 1000;
  return Number.isFinite(seconds) ? seconds : 0;
}

const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockSecondsFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const weekdayFormat = new Intl.DateTimeFormat("en-GB", { weekday: "short" });
const dateFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const yearFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const absoluteFormat = new Intl.DateTimeFormat("en-GB", {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});

function readable(time: string | number | Date): Date | undefined {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** clock formats a time as 14:02, or 14:02:31. */
export function clock(time: string | number | Date, withSeconds = false): string {
  const date = readable(time);
  return date ? (withSeconds ? clockSecondsFormat : clockFormat).format(date) : "";
}

/** absolute formats a time in full, with its zone, for titles and tables of history. */
export function absolute(time: string | number | Date): string {
  const date = readable(time);
  return date ? absoluteFormat.format(date) : "";
}

/** moment formats a time depending on its distance: 14:02 today, "Fri 16:22" within a week, else "3 Nov" or "3 Nov 2024". */
export function moment(time: string | number | Date, now: string | number | Date): string {
  const date = readable(time);
  const today = readable(now);
  if (!date || !today) return "";
  if (date.toDateString() === today.toDateString()) return clockFormat.format(date);
  const away = Math.abs(today.getTime() - date.getTime()) / 1000;
  if (away < 6 * day) return `${weekdayFormat.format(date)} ${clockFormat.format(date)}`;
  return (date.getFullYear() === today.getFullYear() ? dateFormat : yearFormat).format(date);
}

/** progressWords returns "9 of 13 done, 1 failed, 1 waits": a bar never stands without the words. */
export function progressWords(p: Progress): string {
  if (p.all === 0) return "no deploy items";
  const words = [`${number(p.done)} of ${number(p.all)} done`];
  if (p.failed > 0) words.push(`${number(p.failed)} failed`);
  if (p.running > 0) words.push(`${number(p.running)} running`);
  if (p.waiting > 0) words.push(`${number(p.waiting)} ${p.waiting === 1 ? "waits" : "wait"}`);
  return words.join(", ");
}

export interface Part { state: "done" | "running" | "failed" | "waiting"; x: number; width: number }

/** progressParts divides a bar of 100 into parts, in the order done, running, failed, waiting, with a gap of 1 between them. */
export function progressParts(p: Progress): Part[] {
  const all = Math.max(p.all, p.done + p.running + p.failed + p.waiting, 1);
  const parts: Part[] = [];
  let x = 0;
  for (const state of ["done", "running", "failed", "waiting"] as const) {
    if (p[state] <= 0) continue;
    const width = (p[state] / all) * 100;
    parts.push({ state, x, width: Math.max(1, width - (x + width >= 99.9 ? 0 : 1)) });
    x += width;
  }
  return parts;
}

/** shortRevision shortens a Git revision to seven digits; the title and the copy have the whole one. */
export function shortRevision(revision: string): string {
  return revision.replace(/\b([0-9a-f]{7})[0-9a-f]{33,57}\b/g, "$1").replace(/^(.+)@sha1:/, "$1@");
}
