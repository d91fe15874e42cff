// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Finished jobs, the latest first: result, duration, and messages.
import { useMemo, useState } from "preact/hooks";
import type { PastJob } from "../documents";
import { absolute, duration, moment, number } from "../format";
import { pastLines, pastWords, type PastLine } from "../past-model";
import { Age, LongText, Panel, State } from "../parts";
import { serverNow } from "../state";
import { colour } from "../tone";

const jobsAtFirst = 6;

export function PastJobs({ jobs }: { jobs: PastJob[] }) {
  const [all, showAll] = useState(false);
  const lines = useMemo(() => pastLines(jobs), [jobs]);
  if (jobs.length === 0) return null;
  const shown = all ? lines : lines.slice(0, jobsAtFirst);
  return (
    <Panel title="Past jobs" id="past" count={pastWords(jobs)}>
      <table class="tbl stack past">
        <thead><tr><th scope="col" class="p-j">Job</th><th scope="col" class="p-s">Result</th><th scope="col" class="p-w">Ended</th><th scope="col" class="p-d">Took</th><th scope="col">What was said</th></tr></thead>
        <tbody>{shown.map((line) => <JobLine key={line.job.id} line={line} />)}</tbody>
      </table>
      {shown.length < lines.length && <footer><button type="button" class="linkish" onClick={() => showAll(true)}>{number(lines.length - shown.length)} older jobs</button></footer>}
    </Panel>
  );
}

function JobLine({ line: { job, seconds, share } }: { line: PastLine }) {
  return (
    <tr>
      <th scope="row" class="p-j"><code class="any" title={job.id}>{job.id.slice(0, 8)}</code></th>
      <td class="p-s"><State status={job.status} /></td>
      <td class="p-w">{job.end && <><time class="num" dateTime={job.end} title={absolute(job.end)}>{moment(job.end, serverNow())}</time> <small class="faint"><Age since={job.end} after=" ago" /></small></>}</td>
      <td class="p-d wide">{seconds === undefined ? <span class="faint">not known</span> : (
        <span class="took"><svg aria-hidden="true"><rect width="100%" height="8" rx="2" class="p-rest" /><rect width={`${share}%`} height="8" rx="2" class={`k-${colour(job.status.tone)}`} /></svg><span class="num">{duration(seconds)}</span></span>
      )}</td>
      <td class="wide msg">{job.status.message && <span class={`any${job.status.tone === "failed" ? " s-failed" : " muted"}`}><LongText text={job.status.message} limit={200} /></span>}</td>
    </tr>
  );
}
