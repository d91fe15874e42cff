// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What needs attention, pipelines on the move, all installations.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { useChecks } from "../checks";
import { useCommands } from "../commands";
import type { InstallationRow, Need, Overview, OverviewChange } from "../documents";
import { count, number, progressWords } from "../format";
import { useBasis, useReading } from "../hold";
import { freshIn, gone, heldWords, moved, renew } from "../hold-model";
import { Icon } from "../icons";
import { applyChange, counts, filterOf, filters, groupings, groupRows, groupWords, lines, search, toneOf, type Filter, type Group, type Grouping, type Line } from "../overview-model";
import { Body, useLive, Verdict } from "../page";
import { Age, CopyButton, copyText, Empty, Hidden, Panel, SearchField, Segments, State, StatusIcon, useMedia } from "../parts";
import { key, pageOf } from "../refs";
import { go, useQuery } from "../router";
import { Cell, HeadCell, Rows } from "../rows";
import { compact, notePin, overview as known, seen } from "../state";
import { useStore } from "../store";
import { colour } from "../tone";
import { PipelinesList, PipelinesOnTheMove } from "./pipelines";

export type Part = "all" | "installations" | "pipelines";

export function OverviewView({ part }: { part: Part }) {
  const live = useLive<Overview>("/api/v1/stream/overview", (doc, change) => applyChange(doc, change as OverviewChange));
  const doc = live.state.doc;
  useChecks();
  useEffect(() => {
    if (!doc) return;
    known.set(doc);
    for (const row of [...doc.installations, ...doc.pipelines]) notePin({ ref: row.ref, tone: row.status.tone, word: row.status.word });
  }, [doc]);
  return (
    <Body live={live} title={part === "all" ? "Overview" : part === "installations" ? "Installations" : "Pipelines"}>
      {(doc) => (
        <>
          {part === "all" && <Verdict text={doc.verdict}><p>{summary(doc)}</p></Verdict>}
          {part === "installations" && <Verdict text={installationsVerdict(doc)} />}
          {part === "pipelines" && <Verdict text={pipelinesVerdict(doc)} />}
          {part === "all" && <Needs doc={doc} />}
          {part === "all" && <PipelinesOnTheMove rows={doc.pipelines} />}
          {part === "pipelines" && <PipelinesList rows={doc.pipelines} />}
          {part !== "pipelines" && <Installations rows={doc.installations} />}
          <Hidden notes={doc.hidden} />
        </>
      )}
    </Body>
  );
}

function summary(doc: Overview): string {
  const of = counts(doc.installations);
  const moving = doc.pipelines.filter((row) => row.moving).length;
  const words = [`${number(of.succeeded)} of ${count(of.all, "installation")} done`];
  if (of.running > 0) words.push(`${number(of.running)} running`);
  if (doc.pipelines.length > 0) words.push(moving > 0 ? `${count(moving, "pipeline")} on the move` : "no pipeline on the move");
  return `${words.join(", ")}.`;
}

function installationsVerdict(doc: Overview): string {
  const of = counts(doc.installations);
  if (of.all === 0) return "No installations yet";
  return of.failing > 0 ? `${number(of.failing)} of ${count(of.all, "installation")} ${of.failing === 1 ? "fails" : "fail"}` : `None of ${count(of.all, "installation")} fails`;
}

function pipelinesVerdict(doc: Overview): string {
  const moving = doc.pipelines.filter((row) => row.moving).length;
  return doc.pipelines.length === 0 ? "No pipelines yet" : `${number(moving)} of ${count(doc.pipelines.length, "pipeline")} on the move`;
}

const needsAtFirst = 5;

function Needs({ doc }: { doc: Overview }) {
  const [all, showAll] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const shown = all ? doc.needs : doc.needs.slice(0, needsAtFirst);
  const step = (by: number) => {
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>("a.btn") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    buttons[at < 0 ? (by > 0 ? 0 : buttons.length - 1) : (at + by + buttons.length) % buttons.length]?.focus();
  };
  const focused = () => {
    const at = [...(list.current?.children ?? [])].findIndex((child) => child.contains(document.activeElement));
    return shown[Math.max(0, at)];
  };
  useCommands({
    next: () => step(1), previous: () => step(-1), why: () => { const need = focused(); if (need) open(need); },
    "copy-command": () => { const need = focused(); if (need) void copyText(need.command, "Command copied"); },
    approval: () => { const need = doc.needs.find((each) => each.tone === "person"); if (need) open(need); },
  });
  // The verdict already says that nothing needs attention.
  if (doc.needs.length === 0) return doc.soon.length === 0 ? null : <section class="panel calm" aria-label="Soon"><Soon notes={doc.soon} /></section>;
  return (
    <section class="panel" aria-label="Needs you">
      <ul ref={list}>{shown.map((need) => <NeedRow key={need.id} need={need} />)}</ul>
      {doc.needs.length > shown.length && (
        <footer><button type="button" class="linkish" onClick={() => showAll(true)}>{number(doc.needs.length - shown.length)} more</button></footer>
      )}
      <Soon notes={doc.soon} />
    </section>
  );
}

function Soon({ notes }: { notes: string[] }) {
  const [all, showAll] = useState(false);
  if (notes.length === 0) return null;
  return (
    <footer class="soon"><Icon name="clock" /><div><b>Soon:</b> {all ? <ul>{notes.map((note, i) => <li key={i}>{note}</li>)}</ul> : notes[0]}
      {!all && notes.length > 1 && <> <button type="button" class="linkish" onClick={() => showAll(true)}>{number(notes.length - 1)} more</button></>}</div></footer>
  );
}

function leadsTo(need: Need): string {
  const page = pageOf(need.subject) ?? pageOf(need.cause) ?? "/";
  return need.tone === "person" ? `${page}#approval` : page;
}

function open(need: Need): void {
  markSeen(need.id);
  go(leadsTo(need));
}

function markSeen(id: string): void {
  if (!seen.value.includes(id)) seen.set([...seen.value, id].slice(-200));
}

function NeedRow({ need }: { need: Need }) {
  const isSeen = useStore(seen, (ids) => ids.includes(need.id));
  const tone = colour(need.tone);
  return (
    <li class={`need ${tone}${isSeen ? " seen" : ""}`}>
      <StatusIcon status={{ tone: need.tone, word: need.reason }} large />
      <div class="what">
        <h3>{need.title}</h3>
        {need.message && <p class="why">{need.message}</p>}
        <div class="meta">
          {need.reason && <span>{need.reason}</span>}
          <span>Holds up <b>{need.holdsUp === 0 ? "nothing else" : count(need.holdsUp, "object")}</b></span>
          <span class="cutoff">In {need.subject.namespace}</span>
          <span class="nx hide-s"><code class="cutoff" title={need.command}>{need.command}</code><CopyButton text={need.command} label={`Copy command: ${need.command}`} /></span>
        </div>
      </div>
      <div class="acts">
        <a class={`btn${need.tone === "person" ? " you" : ""}`} href={leadsTo(need)} onClick={() => markSeen(need.id)}>{need.button}<span class="sr">: {need.title}</span></a>
        <span class="age"><Age since={need.since} after={need.tone === "failed" || need.tone === "going-failed" ? " ago" : " waiting"} /></span>
      </div>
    </li>
  );
}

const filterWords: Record<Filter, { text: string; icon?: string; tone?: string }> = {
  all: { text: "All" }, failing: { text: "Failing", icon: "failed", tone: "s-failed" }, running: { text: "Running", icon: "progressing", tone: "s-running" },
  succeeded: { text: "Succeeded", icon: "done", tone: "s-done" }, other: { text: "Other" },
};

export function Installations({ rows: all }: { rows: InstallationRow[] }) {
  const [text, setText] = useQuery("q");
  const [filter, setFilter] = useQuery("state", "all");
  const [by, setBy] = useQuery("group", "name");
  const [set, setOpen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const field = useRef<HTMLInputElement>(null);
  const phone = useMedia("(max-width: 767px)");
  const coarse = useMedia("(pointer: coarse)");
  const small = useStore(compact);
  const [box, setBox] = useState<HTMLElement | null>(null);
  const reading = useReading(box);
  const [basis, release] = useBasis(all, reading);
  const arrange = (rows: InstallationRow[]) => {
    const found = search(rows, text);
    return lines(groupRows(filter === "all" ? found : found.filter((row) => filterOf(toneOf(row)) === filter), by as Grouping), set);
  };
  const of = useMemo(() => counts(search(all, text)), [all, text]);
  const latest = useMemo(() => arrange(all), [all, text, filter, by, set]);
  const items = useMemo(() => (basis === all ? latest : renew(arrange(basis), new Map(all.map((row) => [key(row.ref), row])))), [basis, latest]);
  const fresh = useMemo(() => freshIn(all, basis), [all, basis]);
  const held = heldWords(fresh, moved(items, latest, (line) => line.id));
  useEffect(() => {
    if (fresh > 0) announce(`${count(fresh, "new installation")} ${fresh === 1 ? "is" : "are"} held back while you read. A button above the list shows ${fresh === 1 ? "it" : "them"}.`, 4);
  }, [fresh]);
  const put = (id: string, is: boolean) => setOpen(new Map(set).set(id, is));
  // The button disappears when pressed: the focus moves to the list.
  const show = () => {
    release();
    box?.querySelector<HTMLElement>('.rows-body [tabindex="0"]')?.focus({ preventScroll: true });
  };
  useCommands({
    filter: () => { field.current?.focus(); field.current?.select(); },
    escape: () => (text ? setText("") : field.current?.blur()),
    group: () => setBy(groupings[(groupings.indexOf(by as Grouping) + 1) % groupings.length] ?? "name"),
  });
  if (all.length === 0) {
    return <Panel title="Installations"><Empty icon="tree" title="No installations yet" text="Install the example to see a tree grow, or apply an Installation of your own." command="espalier up --example hello" /></Panel>;
  }
  const openLine = (line: Line, event?: Event) => {
    if (line.kind === "group") put(line.group.id, !line.open);
    else if (line.kind === "more") put(`more/${line.group.id}`, true);
    else if (!(event instanceof MouseEvent) || !window.getSelection()?.toString()) go(pageOf(line.row.ref) ?? "/");
  };
  const onKey = (event: KeyboardEvent, line: Line) => {
    if (line.kind === "group" && (event.key === "ArrowRight" || event.key === "ArrowLeft")) put(line.group.id, event.key === "ArrowRight");
    else if (event.key === " ") openLine(line);
    else return;
    event.preventDefault();
  };
  const head = (
    <>
      <div class="filters">
        <Segments label="Filter by state" value={filter as Filter} onChange={setFilter} options={filters.map((each) => ({ value: each, ...filterWords[each], count: number(of[each]) }))} />
      </div>
      <div class="sp tools">
        {held && <button type="button" class="btn small fresh" onClick={show}>{held}<span class="sr">{fresh > 0 ? count(fresh, " installation").replace(/^\S+/, "") : " the list, rows have moved"}, show in the list</span></button>}
        <SearchField field={field} label="Search installations" text={text} onText={setText} />
        <label class="grouping hide-s"><span>Grouped by</span><select value={by} onChange={(event) => setBy(event.currentTarget.value)}>{groupings.map((each) => <option key={each} value={each}>{each}</option>)}</select><kbd>G</kbd></label>
        <button type="button" class="btn quiet small icon" aria-label="Compact rows" title="Compact rows" aria-pressed={small} onClick={() => compact.set(!small)}><Icon name="compact" /></button>
      </div>
    </>
  );
  return (
    <div ref={setBox} class="contents-box">
      <Panel title="Installations" head={head}>
        {items.length === 0 ? (
          <Empty icon="search" title={text ? `Nothing matches “${text}”` : `None is ${filterWords[filter as Filter]?.text.toLowerCase() ?? filter}`} text={`${count(all.length, "installation")} ${all.length === 1 ? "is" : "are"} hidden by the ${text ? "search" : "filter"}.`}>
            <button type="button" class="btn" onClick={() => { setText(""); setFilter("all"); }}>Clear {text ? "search" : "filter"}</button>
          </Empty>
        ) : (
          <Rows items={items} id={(line) => line.id} height={phone ? (small ? 44 : 64) : coarse ? 44 : small ? 28 : 36} label="Installations" columns={`in${small ? " compact" : ""}`} onOpen={openLine} onKey={onKey}
            attributes={lineAttributes} draw={(line) => <LineCells line={line} by={by as Grouping} />} stamp={(line) => (line.kind === "row" ? line.row.status.word + line.row.status.tone : undefined)}
            head={<><HeadCell class="c-n">Name</HeadCell><HeadCell class="c-s">State</HeadCell><HeadCell class="c-k">Where</HeadCell><HeadCell class="c-m">What happens</HeadCell><HeadCell class="c-f">Flow</HeadCell><HeadCell class="c-a">Changed</HeadCell></>} />
        )}
      </Panel>
    </div>
  );
}

function lineAttributes(line: Line): Record<string, string | number | boolean | undefined> {
  return {
    class: `row ${line.kind}${line.kind === "row" && line.inside ? " inside" : ""}${line.kind === "row" && line.row.status.word === gone ? " gone" : ""}`,
    "aria-level": line.kind === "group" || (line.kind === "row" && !line.inside) ? 1 : 2,
    "aria-expanded": line.kind === "group" ? line.open : undefined,
  };
}

function LineCells({ line, by }: { line: Line; by: Grouping }) {
  if (line.kind === "group") return <GroupCells group={line.group} open={line.open} by={by} />;
  if (line.kind === "more") {
    return <><Cell class="c-n"><span class="ind" /><span class="link faint">{number(line.count)} more, all succeeded</span></Cell><Cell class="c-s" /></>;
  }
  const { row, inside } = line;
  const [name, place] = inside && by === "name" ? [row.ref.namespace, row.version ?? ""] : [row.ref.name, row.ref.namespace];
  const failing = toneOf(row) !== row.status.tone;
  return (
    <>
      <Cell class="c-n"><span class="ind" /><a class="cellname" href={pageOf(row.ref)} tabIndex={-1} title={`${row.ref.namespace}/${row.ref.name}`}><span class={`cutoff${inside ? "" : " strong"}`}>{name}</span><span class="faint cutoff">{place}</span></a></Cell>
      <Cell class="c-s"><State status={failing ? { tone: "failed", word: row.status.word } : row.status} word={failing ? `${row.status.word}, ${row.progress.failed} failed` : row.status.word} /></Cell>
      <Cell class="c-k" />
      <Cell class="c-m"><span class="cutoff" title={row.waitsFor || row.status.message}>{what(row)}</span></Cell>
      <Cell class="c-f">{row.flow}</Cell>
      <Cell class="c-a"><Age since={row.status.since} /></Cell>
    </>
  );
}

function what(row: InstallationRow): string {
  if (row.waitsFor) return row.waitsFor;
  if (row.status.tone === "done") return "";
  return row.progress.all > 0 ? progressWords(row.progress) : (row.status.message ?? "");
}

/** cellsAtMost is how many cells a group draws; above that it shows counts. */
const cellsAtMost = 24;

function GroupCells({ group, open, by }: { group: Group; open: boolean; by: Grouping }) {
  const many = by === "name" ? count(group.rows.length, "namespace") : count(group.rows.length, "installation");
  const worst = group.rows[0];
  const flows = [...new Set(group.rows.map((row) => row.flow))];
  const latest = group.rows.reduce<string | undefined>((a, row) => (row.status.since && (!a || row.status.since > a) ? row.status.since : a), undefined);
  return (
    <>
      <Cell class="c-n"><Icon name={open ? "chevd" : "chev"} class="faint" /><span class="cellname"><span class="cutoff strong" title={group.title}>{group.title}</span><span class="faint nowrap">{many}</span></span></Cell>
      <Cell class="c-s"><State status={{ tone: group.tone, word: worst?.status.word ?? "" }} word={groupWords(group)} /></Cell>
      <Cell class="c-k">{group.rows.length <= cellsAtMost ? <Strip rows={group.rows} /> : <span class="muted num">{tally(group.rows)}</span>}</Cell>
      <Cell class="c-m"><span class="cutoff">{worst && worst.status.tone !== "done" && by === "name" ? `${worst.ref.namespace}: ${what(worst)}` : worst ? what(worst) : ""}</span></Cell>
      <Cell class="c-f">{flows.length === 1 ? flows[0] : "mixed"}</Cell>
      <Cell class="c-a"><Age since={latest} /></Cell>
    </>
  );
}

function tally(rows: InstallationRow[]): string {
  const of = counts(rows);
  return of.succeeded === of.all ? `all ${number(of.all)}` : `${number(of.succeeded)} of ${number(of.all)}`;
}

function Strip({ rows }: { rows: InstallationRow[] }) {
  return (
    <svg class="strip" width={rows.length * 10} height="18" aria-hidden="true">
      {[...rows].reverse().map((row, i) => {
        const bad = toneOf(row);
        const tall = colour(bad) === "failed";
        return <rect key={key(row.ref)} x={i * 10} y={tall ? 0 : 3} width="8" height={tall ? 18 : 12} rx="2" class={`k-${colour(bad)}`} />;
      })}
    </svg>
  );
}
