// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Log lines of deployers about a deploy item.
import { useMemo, useState } from "preact/hooks";
import { api } from "../api";
import type { Row } from "../documents";
import { absolute, clock, count, number } from "../format";
import { Icon } from "../icons";
import { stampOf } from "../live-model";
import { levelCounts, levelOf, logText, ofLevel, type Level } from "../log-model";
import { AgainButton, CopyButton, Loading, LongText, RefusedBox, Segments, useBook } from "../parts";

const levelWords: Record<Level, { text: string; icon?: string; tone?: string }> = {
  all: { text: "All" }, info: { text: "Info" }, error: { text: "Errors", icon: "failed", tone: "s-failed" }, debug: { text: "Debug" },
};

/** linesAtFirst is how many lines are drawn before the user requests older ones. */
const linesAtFirst = 300;

export function Log({ row }: { row: Row }) {
  const isItem = row.ref.kind === "DeployItem";
  const [level, choose] = useState<Level>("all");
  const [all, showAll] = useState(false);
  const [asked, again] = useBook(() => api.logs(row.ref.namespace, row.ref.name), stampOf(row), isItem);
  const lines = asked?.answer?.lines ?? [];
  const choices = useMemo(() => levelCounts(lines), [lines]);
  const fits = choices.some((each) => each.level === level) ? level : "all";
  const found = useMemo(() => ofLevel(lines, fits), [lines, fits]);
  const shown = all ? found : found.slice(-linesAtFirst);
  if (!isItem) return <p class="nothing">Only deploy items have a log. Choose one below {row.title} in the table.</p>;
  return (
    <section aria-label={`Log about ${row.title}`}>
      <h3><Icon name="log" class="faint" />Deployer <AgainButton busy={asked?.asking ?? true} at={asked?.at} label="Read again" onClick={again} /></h3>
      {asked?.refused && <RefusedBox refused={asked.refused} what="The log cannot be shown." />}
      {!asked?.answer && !asked?.refused && <Loading rows={4} />}
      {asked?.answer && lines.length === 0 && (
        <div class="empty small"><Icon name="log" class="lg faint" /><h4>Nothing has been said about {row.title}</h4>{asked.answer.message && <p class="any">{asked.answer.message}</p>}</div>
      )}
      {lines.length > 0 && (
        <>
          <div class="logbar">
            {choices.length > 0 && <Segments label="Levels" value={fits} onChange={choose} options={choices.map((each) => ({ value: each.level, ...levelWords[each.level], count: number(each.count) }))} />}
            <CopyButton text={logText(found)} label={`Copy ${count(found.length, "line")}`} quiet />
          </div>
          {asked?.answer?.message && <p class="note"><Icon name="unknown" class="faint" /><span>{asked.answer.message}</span></p>}
          {shown.length < found.length && <button type="button" class="linkish" onClick={() => showAll(true)}>{number(found.length - shown.length)} older lines</button>}
          <ol class="log" tabIndex={0} aria-label={`Lines about ${row.title}`}>
            {shown.map((line, i) => (
              <li key={i} class={levelOf(line)}>{line.time && <time dateTime={line.time} title={absolute(line.time)}>{clock(line.time, true)}</time>}<b>{levelOf(line)}</b><span><LongText text={line.text} limit={1200} /></span></li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}
