// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Pipelines as tracks: those on the move for the overview, and the list of all, with search and filters.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { useCommands } from "../commands";
import type { Environment, PipelineRow } from "../documents";
import { count, number } from "../format";
import { gateIcon, holding } from "../gate-model";
import { useGlide } from "../glide";
import { cardSpot, gateSpot } from "../glide-model";
import { useBasis, useReading } from "../hold";
import { freshIn, gone, heldWords, moved } from "../hold-model";
import { Icon } from "../icons";
import { Empty, Left, Panel, Revision, SearchField, Segments, State, StatusIcon } from "../parts";
import { matches, moreWords, pageSize, pipelineCounts, pipelineFilters, renewPipelines, searchPipelines, sortPipelines, type PipelineFilter } from "../pipelines-model";
import { key, pageOf } from "../refs";
import { useQuery } from "../router";
import { Scroller } from "../scroller";

/** tracksAtMost is how many pipelines the overview shows; the list has the others. */
const tracksAtMost = 12;

/** PipelinesOnTheMove is the part of the overview about pipelines. */
export function PipelinesOnTheMove({ rows }: { rows: PipelineRow[] }) {
  const moving = useMemo(() => sortPipelines(rows.filter((row) => row.moving)), [rows]);
  if (rows.length === 0) return null;
  const shown = moving.slice(0, tracksAtMost);
  return (
    <Panel title="Pipelines on the move" count={`${number(moving.length)} of ${number(rows.length)}`} head={<a class="btn quiet sp" href="/pipelines">All pipelines</a>}>
      {shown.length === 0 ? <p class="quiet-line">No revision in progress.</p> : <Tracks rows={shown} />}
      {moving.length > shown.length && <footer><a class="link" href="/pipelines?state=moving">{number(moving.length - shown.length)} more<span class="sr"> pipelines on the move</span></a></footer>}
    </Panel>
  );
}

const filterWords: Record<PipelineFilter, { text: string; icon?: string; tone?: string }> = {
  all: { text: "All" }, failing: { text: "Failing", icon: "failed", tone: "s-failed" }, approval: { text: "Needs approval", icon: "you", tone: "s-you" },
  moving: { text: "On the move" }, rest: { text: "At rest" },
};
const noneWords: Record<PipelineFilter, string> = { all: "No pipelines", failing: "None is failing", approval: "None waits for an approval", moving: "None is on the move", rest: "None is at rest" };

/** PipelinesList is the page of all pipelines. */
export function PipelinesList({ rows: all }: { rows: PipelineRow[] }) {
  const [text, setText] = useQuery("q");
  const [state, setFilter] = useQuery("state", "all");
  const filter = pipelineFilters.find((each) => each === state) ?? "all";
  const [limit, setLimit] = useState(pageSize);
  const field = useRef<HTMLInputElement>(null);
  const [box, setBox] = useState<HTMLElement | null>(null);
  const [basis, release] = useBasis(all, useReading(box));
  const arrange = (rows: PipelineRow[]) => sortPipelines(searchPipelines(rows, text).filter((row) => matches(row, filter)));
  const of = useMemo(() => pipelineCounts(searchPipelines(all, text)), [all, text]);
  const latest = useMemo(() => arrange(all), [all, text, filter]);
  const items = useMemo(() => (basis === all ? latest : renewPipelines(arrange(basis), all)), [basis, latest]);
  const fresh = useMemo(() => freshIn(all, basis), [all, basis]);
  const held = heldWords(fresh, moved(items, latest, (row) => key(row.ref)));
  useEffect(() => setLimit(pageSize), [text, filter]);
  useEffect(() => {
    if (fresh > 0) announce(`${count(fresh, "new pipeline")} ${fresh === 1 ? "is" : "are"} held back while you read. A button above the list shows ${fresh === 1 ? "it" : "them"}.`, 4);
  }, [fresh]);
  useCommands({ filter: () => { field.current?.focus(); field.current?.select(); }, escape: () => (text ? setText("") : field.current?.blur()) });
  // A button that disappears when pressed passes the focus to the row that it has loaded. Not useEffect: one that is still pending from
  // before the press would handle the request.
  const from = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (from.current === undefined) return;
    box?.querySelectorAll<HTMLElement>(".trackrow .who")[from.current]?.focus();
    from.current = undefined;
  });
  if (all.length === 0) {
    return <Panel title="Pipelines"><Empty icon="pipe" title="No pipelines yet" text="A Pipeline promotes revisions from one environment to the next. Apply one to see its board here." command="espalier pipeline --help" /></Panel>;
  }
  const left = items.length - limit;
  const head = (
    <>
      <div class="filters"><Segments label="Filter by state" value={filter} onChange={setFilter} options={pipelineFilters.map((each) => ({ value: each, ...filterWords[each], count: number(of[each]) }))} /></div>
      <div class="sp tools">
        {held && <button type="button" class="btn small fresh" onClick={() => { from.current = 0; release(); }}>{held}<span class="sr">{fresh > 0 ? count(fresh, " pipeline").replace(/^\S+/, "") : " the list, rows have moved"}, show in the list</span></button>}
        <SearchField field={field} label="Search pipelines" text={text} onText={setText} />
      </div>
    </>
  );
  return (
    <div ref={setBox} class="contents-box">
      <Panel title="Pipelines" head={head}>
        {items.length === 0 ? (
          <Empty icon="search" title={text ? `Nothing matches “${text}”` : noneWords[filter]} text={`${count(all.length, "pipeline")} ${all.length === 1 ? "is" : "are"} hidden by the ${text ? "search" : "filter"}.`}>
            <button type="button" class="btn" onClick={() => { setText(""); setFilter("all"); }}>Clear {text ? "search" : "filter"}</button>
          </Empty>
        ) : <Tracks rows={items.slice(0, limit)} />}
        {left > 0 && <footer><button type="button" class="linkish" onClick={() => { from.current = limit; setLimit(limit + pageSize); }}>{moreWords(left).button}<span class="sr"> pipelines</span></button><span>{moreWords(left).rest}</span></footer>}
      </Panel>
    </div>
  );
}

function Tracks({ rows }: { rows: PipelineRow[] }) {
  return <div class="tracks">{rows.map((row) => <PipelineLine key={key(row.ref)} row={row} />)}</div>;
}

/** scrollsFrom is the number of environments from which gates are shown as icons, and the track scrolls where it has no room. */
const scrollsFrom = 5;

function PipelineLine({ row }: { row: PipelineRow }) {
  const box = useRef<HTMLDivElement>(null);
  useGlide(() => box.current?.querySelector<HTMLElement>(".track") ?? null, row.environments);
  return (
    <div class={`trackrow${row.status.word === gone ? " gone" : ""}`} ref={box}>
      <a class="who" href={pageOf(row.ref)}><b class="cutoff">{row.ref.name}</b><span class="faint cutoff">{row.ref.namespace}</span></a>
      <State status={row.status} />
      <Scroller class={`track${row.environments.length >= scrollsFrom ? " many" : ""}`} label={`Environments of ${row.ref.name}`}>{row.environments.map((env, i) => <TrackPart key={env.name} env={env} first={i === 0} />)}</Scroller>
    </div>
  );
}

function TrackPart({ env, first }: { env: Environment; first: boolean }) {
  const gate = env.coming ? holding(env.gates) : undefined;
  return (
    <>
      {(!first || gate) && (
        <span data-needy={gate && ["yours", "failed"].includes(gate.state) ? "" : undefined} class={`gap${gate?.state === "yours" ? " on" : ""}${env.coming ? " coming" : ""}`}>
          {gate && <span class="at" data-spot={gateSpot(env.name)} title={`${env.coming}: ${gate.label}`}><Icon name={gateIcon(gate)} /><span class="words cutoff">{gate.label}{gate.state === "counting" ? "" : ` ${env.coming}`}</span>{gate.until && gate.state === "counting" && <span class="words"><Left until={gate.until} /></span>}</span>}
        </span>
      )}
      <span class="env" data-needy={env.status.tone === "failed" ? "" : undefined}><StatusIcon status={env.status} /><span class="lb cutoff">{env.name}<span class="sr">, {env.status.word}</span></span>{env.revision ? <Revision of={env.revision} spot={cardSpot(env.name)} /> : <span class="rev none">none</span>}</span>
    </>
  );
}
