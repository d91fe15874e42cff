// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Finished jobs. All of it is pure.
import type { PastJob } from "./documents";
import { duration, secondsBetween } from "./format";

export interface PastLine { job: PastJob; seconds?: number; share: number }

/** pastLines returns how long each job took, and its share of the longest in percent, with a visible minimum. */
export function pastLines(jobs: PastJob[]): PastLine[] {
  const lasted = jobs.map((job) => (job.start && job.end ? Math.max(0, secondsBetween(job.start, job.end)) : undefined));
  const longest = Math.max(1, ...lasted.map((seconds) => seconds ?? 0));
  return jobs.map((job, i) => ({ job, ...(lasted[i] === undefined ? {} : { seconds: lasted[i] }), share: lasted[i] === undefined ? 0 : Math.max(1, (lasted[i] / longest) * 100) }));
}

/** pastWords returns a summary: "4 of 5 succeeded, half took up to 9 min 12 s". */
export function pastWords(jobs: PastJob[]): string {
  if (jobs.length === 0) return "";
  const good = jobs.filter((job) => job.status.tone === "done").length;
  const lasted = pastLines(jobs).flatMap((line) => (line.seconds === undefined ? [] : [line.seconds])).sort((a, b) => a - b);
  const middle = lasted[Math.floor((lasted.length - 1) / 2)];
  return [`${good} of ${jobs.length} succeeded`, middle !== undefined && lasted.length > 1 && `half took up to ${duration(middle)}`].filter(Boolean).join(", ");
}
