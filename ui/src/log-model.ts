// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Log lines of deployers. All of it is pure.
import type { LogLine } from "./documents";

export const levels = ["all", "info", "error", "debug"] as const;
export type Level = (typeof levels)[number];

/** levelOf treats an unknown level as info. */
export function levelOf(line: LogLine): Exclude<Level, "all"> {
  const level = line.level.toLowerCase();
  return level === "error" || level === "debug" ? level : "info";
}

/** levelCounts returns the levels that occur, with their number, and all first. With only one level there is nothing to choose. */
export function levelCounts(lines: LogLine[]): { level: Level; count: number }[] {
  const found = levels.slice(1).map((level) => ({ level, count: lines.filter((line) => levelOf(line) === level).length })).filter((each) => each.count > 0);
  return found.length > 1 ? [{ level: "all" as Level, count: lines.length }, ...found] : [];
}

export function ofLevel(lines: LogLine[], level: Level): LogLine[] {
  return level === "all" ? lines : lines.filter((line) => levelOf(line) === level);
}

/** logText returns the text to copy: full times, levels as words, one line each. */
export function logText(lines: LogLine[]): string {
  return lines.map((line) => [line.time, levelOf(line), line.text].filter(Boolean).join(" ")).join("\n");
}
