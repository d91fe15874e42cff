// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The list of pipelines: filters, search, order, and rows that stay where they are while somebody reads. All of it is pure.
import type { PipelineRow, Tone } from "./documents";
import { number } from "./format";
import { gone } from "./hold-model";
import { withWords } from "./overview-model";
import { key } from "./refs";
import { grave, gravest } from "./tone";

export const pipelineFilters = ["all", "failing", "approval", "moving", "rest"] as const;
export type PipelineFilter = (typeof pipelineFilters)[number];

const isFailing = (tone: Tone) => tone === "failed" || tone === "going-failed";

/** matches says whether a pipeline is shown by a filter. One that fails in dev and waits for a person before prod is shown by both. */
export function matches(row: PipelineRow, filter: PipelineFilter): boolean {
  switch (filter) {
    case "all": return true;
    case "failing": return isFailing(row.status.tone) || row.environments.some((env) => isFailing(env.status.tone) || (env.coming !== undefined && env.gates.some((gate) => gate.state === "failed")));
    case "approval": return row.status.tone === "person" || row.environments.some((env) => env.gates.some((gate) => gate.kind === "approval" && (gate.state === "yours" || gate.state === "others")));
    case "moving": return row.moving;
    case "rest": return !row.moving;
  }
}

/** pipelineCounts has the number of rows for each filter. */
export function pipelineCounts(rows: PipelineRow[]): Record<PipelineFilter, number> {
  return Object.fromEntries(pipelineFilters.map((filter) => [filter, rows.filter((row) => matches(row, filter)).length])) as Record<PipelineFilter, number>;
}

/** searchPipelines looks into names, states, environments and the revisions that are there or on their way. */
export function searchPipelines(rows: PipelineRow[], text: string): PipelineRow[] {
  return withWords(rows, text, (row) => [
    row.ref.name, row.ref.namespace, row.status.word, row.latest, ...row.environments.flatMap((env) => [env.name, env.revision, env.coming]),
  ]);
}

/** worst is the gravest thing of a pipeline: its own state, or that of an environment. */
function worst(row: PipelineRow): number {
  return grave(gravest([row.status.tone, ...row.environments.map((env) => env.status.tone)]));
}

/** sortPipelines puts the gravest first, then those on the move, then by namespace and name. */
export function sortPipelines(rows: PipelineRow[]): PipelineRow[] {
  const of = new Map(rows.map((row) => [row, [worst(row), key(row.ref)] as const]));
  return [...rows].sort((a, b) => {
    const [[graveA, keyA], [graveB, keyB]] = [of.get(a)!, of.get(b)!];
    return graveA - graveB || Number(b.moving) - Number(a.moving) || (keyA < keyB ? -1 : 1);
  });
}

/** renewPipelines gives rows the latest of what they show, and leaves each in its place. */
export function renewPipelines(rows: PipelineRow[], latest: PipelineRow[]): PipelineRow[] {
  const now = new Map(latest.map((row) => [key(row.ref), row]));
  return rows.map((row) => now.get(key(row.ref)) ?? { ...row, status: { tone: "going", word: gone }, moving: false });
}

/** pageSize is how many rows are drawn at first, and how many more each time somebody asks. */
export const pageSize = 100;

/** moreWords is what the button below a list says: all that is left, or the next page of it. */
export function moreWords(left: number): { button: string; rest: string } {
  return left <= pageSize ? { button: `${left} more`, rest: "" } : { button: `${pageSize} more`, rest: `of ${number(left)} that are not shown` };
}
