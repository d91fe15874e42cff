// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The list of pipelines: filters, search, order, and rows that stay in place while the list is being read. All of it is pure.
import type { PipelineRow, Tone } from "./documents";
import { number } from "./format";
import { gone } from "./hold-model";
import { withWords } from "./overview-model";
import { key } from "./refs";
import { grave, gravest } from "./tone";

export const pipelineFilters = ["all", "failing", "approval", "moving", "rest"] as const;
export type PipelineFilter = (typeof pipelineFilters)[number];

const isFailing = (tone: Tone) => tone === "failed" || tone === "going-failed";

/**
 * matches reports whether a filter shows a pipeline. A pipeline that fails in dev and waits for an approval before prod matches
 * both filters.
 */
export function matches(row: PipelineRow, filter: PipelineFilter): boolean {
  switch (filter) {
    case "all": return true;
    case "failing": return isFailing(row.status.tone) || row.environments.some((env) => isFailing(env.status.tone) || (env.coming !== undefined && env.gates.some((gate) => gate.state === "failed")));
    case "approval": return row.status.tone === "person" || row.environments.some((env) => env.gates.some((gate) => gate.kind === "approval" && (gate.state === "yours" || gate.state === "others")));
    case "moving": return row.moving;
    case "rest": return !row.moving;
  }
}

/** pipelineCounts returns the number of rows for each filter. */
export function pipelineCounts(rows: PipelineRow[]): Record<PipelineFilter, number> {
  return Object.fromEntries(pipelineFilters.map((filter) => [filter, rows.filter((row) => matches(row, filter)).length])) as Record<PipelineFilter, number>;
}

/** searchPipelines searches names, states, environments and the revisions that are there or on their way. */
export function searchPipelines(rows: PipelineRow[], text: string): PipelineRow[] {
  return withWords(rows, text, (row) => [
    row.ref.name, row.ref.namespace, row.status.word, row.latest, ...row.environments.flatMap((env) => [env.name, env.revision, env.coming]),
  ]);
}

/** worst returns the most severe state of a pipeline: its own, or that of an environment. */
function worst(row: PipelineRow): number {
  return grave(gravest([row.status.tone, ...row.environments.map((env) => env.status.tone)]));
}

/** sortPipelines sorts the most severe first, then those on the move, then by namespace and name. */
export function sortPipelines(rows: PipelineRow[]): PipelineRow[] {
  const of = new Map(rows.map((row) => [row, [worst(row), key(row.ref)] as const]));
  return [...rows].sort((a, b) => {
    const [[graveA, keyA], [graveB, keyB]] = [of.get(a)!, of.get(b)!];
    return graveA - graveB || Number(b.moving) - Number(a.moving) || (keyA < keyB ? -1 : 1);
  });
}

/** renewPipelines updates the content of rows, and leaves each in its place. */
export function renewPipelines(rows: PipelineRow[], latest: PipelineRow[]): PipelineRow[] {
  const now = new Map(latest.map((row) => [key(row.ref), row]));
  return rows.map((row) => now.get(key(row.ref)) ?? { ...row, status: { tone: "going", word: gone }, moving: false });
}

/** pageSize is how many rows are drawn at first, and how many more on each request. */
export const pageSize = 100;

/** moreWords returns the label of the button below a list: everything that is left, or the next page of it. */
export function moreWords(left: number): { button: string; rest: string } {
  return left <= pageSize ? { button: `${left} more`, rest: "" } : { button: `${pageSize} more`, rest: `of ${number(left)} that are not shown` };
}
