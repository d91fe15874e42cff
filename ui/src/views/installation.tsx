// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Why it is not done, the values between installations, and the tree with the job as a waterfall.
import { Fragment, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, Actions } from "../actions";
import { api } from "../api";
import { Book, type Asked } from "../asked";
import { useCommands } from "../commands";
import type { Event, Installation, Live, Ref, Row, Tone, Why } from "../documents";
import { Explained } from "../explained";
import { clock, count, duration, number, progressWords, secondsBetween } from "../format";
import { GraphBox } from "../graph";
import { Icon } from "../icons";
import { isLiveRow, stampOf, withLive } from "../live-model";
import { Body, useLive, Verdict } from "../page";
import { Age, CommandLine, copyText, Empty, Hidden, LongText, Panel, RefLink, Revision, Segments, State, StatusIcon, useMedia } from "../parts";
import { key, pageOf } from "../refs";
import { go, useQuery } from "../router";
import { Cell, HeadCell, Rows } from "../rows";
import { compact, notePin, pageActions, pins, togglePin, useNow } from "../state";
import { useStore } from "../store";
import { colour, needsSomebody } from "../tone";
import { criticalPath, foldable, lastWaitedFor, scaleOf, unfolded, visible, type Mode } from "../tree-model";
import { Axis, Bars, barWords } from "../waterfall";
import { ChangesPanel } from "./changes";
import { Drawer, tabs, Timeline, type Tab } from "./drawer";
import { PastJobs } from "./past";

export function InstallationView({ namespace, name }: { namespace: string; name: string }) {
  const live = useLive<Installation>(`/api/v1/stream/installations/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
  return (
    <Body live={live} title={`${name} in ${namespace}`}>
      {(doc) => doc.exists ? <Page doc={doc} /> : (
        <>
          <Panel><Empty icon="tree" title={`There is no installation ${name} in ${namespace}`} text="It was deleted, it has another name, or you may not see it." command={`espalier get installations -n ${namespace}`}><a class="btn" href="/installations">All installations</a></Empty></Panel>
          <Hidden notes={doc.hidden} />
        </>
      )}
    </Body>
  );
}

/** Looks are the answers about live objects of deploy items, by the ID of their row. */
type Looks = ReadonlyMap<string, Asked<Live>>;

/** useLooks requests the live objects of unfolded deploy items, and again when their known state changes. */
function useLooks(rows: Row[], open: ReadonlySet<string>): { looks: Looks; again: (id: string) => void } {
  const names = useRef(new Map<string, Ref>());
  const book = useMemo(() => new Book<Live>((id) => {
    const ref = names.current.get(id);
    return api.live(ref?.namespace ?? "", ref?.name ?? "");
  }), []);
  useLayoutEffect(() => {
    for (const row of rows) {
      if (row.ref.kind !== "DeployItem" || !open.has(row.id)) continue;
      names.current.set(row.id, row.ref);
      book.want(row.id, stampOf(row));
    }
  }, [rows, open]);
  return { looks: useStore(book.pages), again: (id) => book.again(id) };
}

/** looksEvery is how old the shown state of a target becomes while its drawer is open and visible, in milliseconds. */
const looksEvery = 10_000;

/** useLookAgain requests the state of a target again. After a refusal, only the button does. */
function useLookAgain(id: string, look: Asked<Live> | undefined, again: (id: string) => void): void {
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    if (id === "") return;
    const check = () => {
      const known = latest.current;
      if (!document.hidden && known?.at !== undefined && !known.asking && !known.refused && Date.now() - known.at >= looksEvery) again(id);
    };
    const timer = window.setInterval(check, looksEvery / 10);
    document.addEventListener("visibilitychange", check);
    return () => {
      window.clearInterval(timer);
      document.removeEventListener("visibilitychange", check);
    };
  }, [id]);
}

function Page({ doc }: { doc: Installation }) {
  const [selected, select] = useQuery("sel");
  const [tab, setTab] = useQuery("tab", "values");
  const [set, setOpen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const row = doc.rows.find((each) => each.id === selected);
  const looked = row && tab === "objects" ? row.id : "";
  const items = useMemo(() => new Set([...[...set].filter(([, is]) => is).map(([id]) => id), ...(looked ? [looked] : [])]), [set, looked]);
  const { looks, again } = useLooks(doc.rows, items);
  useLookAgain(row?.ref.kind === "DeployItem" ? looked : "", looks.get(looked), again);
  const whyCommand = doc.why?.commands[0] ?? `espalier why ${doc.ref.name} -n ${doc.ref.namespace}`;
  const goTo = (ref: Ref) => {
    const there = doc.rows.find((each) => key(each.ref) === key(ref));
    if (there) select(there.id);
    else go(pageOf(ref) ?? "/");
  };
  const showTab = (to: Tab) => {
    if (!row && doc.rows[0]) select(doc.rows[0].id);
    setTab(to);
  };
  const focusOn = (id: string) => {
    const element = document.getElementById(id);
    element?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: "start" });
  };
  useCommands({
    why: () => focusOn("why"), values: () => showTab("values"), "copy-command": () => void copyText(whyCommand, "Command copied"),
    "tab-1": () => showTab("values"), "tab-2": () => showTab("objects"), "tab-3": () => showTab("events"), "tab-4": () => showTab("log"),
    reconcile: () => { const action = doc.actions.find((each) => each.id === "reconcile"); if (action) ask(action, { ref: doc.ref }); },
    ...(row ? { escape: () => select("") } : {}),
  });
  useEffect(() => {
    notePin({ ref: doc.ref, tone: doc.status.tone, word: doc.status.word });
    pageActions.set(doc.actions.map((action) => ({ action, run: () => ask(action, { ref: doc.ref }) })));
  }, [doc]);
  const drawer = row && <Drawer row={row} events={doc.events} tab={tabs.includes(tab as Tab) ? (tab as Tab) : "values"} live={looks.get(row.id)} onTab={setTab} onClose={() => select("")} onGo={goTo} onAgain={() => again(row.id)} />;
  return (
    <>
      <Verdict text={doc.verdict} eyebrow={<Eyebrow doc={doc} />} actions={<Actions actions={doc.actions} subject={{ ref: doc.ref }} />}><Legend rows={doc.rows} /></Verdict>
      {doc.why ? <WhyBox why={doc.why} doc={doc} onGo={goTo} /> : <Done doc={doc} />}
      <Values doc={doc} selected={selected} select={select} drawer={drawer} />
      <Tree doc={doc} selected={selected} select={select} set={set} setOpen={setOpen} looks={looks} onLook={(id) => { select(id); setTab("objects"); }} />
      <ChangesPanel doc={doc} />
      <PastJobs jobs={doc.past ?? []} />
      <EventsPanel events={doc.events} />
      <Hidden notes={doc.hidden} />
    </>
  );
}

function Eyebrow({ doc }: { doc: Installation }) {
  const pinned = useStore(pins, (all) => all.some((pin) => key(pin.ref) === key(doc.ref)));
  const job = doc.job;
  return (
    <>
      <span>Installation</span><i>·</i><span class="any">{doc.ref.namespace}</span>
      {doc.parent && <><i>·</i><span class="any">part of <RefLink to={doc.parent} /></span></>}
      {doc.version && <><i>·</i><span class="any">version <Revision of={doc.version} /></span></>}
      {doc.blueprint !== undefined && doc.blueprint !== "" && <><i>·</i><a class="link" href={`/blueprints/${encodeURIComponent(doc.ref.namespace)}/${encodeURIComponent(doc.ref.name)}`}>blueprint</a></>}
      {job?.start && <><i class="hide-s">·</i><span class="num hide-s any">job{job.id ? ` ${job.id.slice(0, 8)}` : ""}, started {clock(job.start)}{job.end ? `, took ${duration(secondsBetween(job.start, job.end))}` : <Age since={job.start} before=", runs for " />}</span></>}
      <button type="button" class="linkish hide-s" aria-pressed={pinned} onClick={() => togglePin({ ref: doc.ref, tone: doc.status.tone, word: doc.status.word })}><Icon name="pin" />{pinned ? "Pinned" : "Pin"}</button>
    </>
  );
}

const legendOrder: { tone: Tone; words: (n: number) => string }[] = [
  { tone: "done", words: (n) => `${number(n)} succeeded` }, { tone: "works", words: (n) => `${number(n)} running` },
  { tone: "failed", words: (n) => `${number(n)} failed` }, { tone: "waits", words: (n) => `${number(n)} ${n === 1 ? "waits" : "wait"} for an import` },
  { tone: "person", words: (n) => `${number(n)} ${n === 1 ? "waits" : "wait"} for a person` }, { tone: "not-yet", words: (n) => `${number(n)} pending` },
  { tone: "going", words: (n) => `${number(n)} being deleted` }, { tone: "going-failed", words: (n) => `${number(n)} cannot be deleted` },
  { tone: "stopped", words: (n) => `${number(n)} stopped` }, { tone: "unknown", words: (n) => `${number(n)} cannot be read` },
];

/** Legend counts the parts by state: installations below, or deploy items if there are none. */
function Legend({ rows }: { rows: Row[] }) {
  const below = rows.filter((row) => row.depth > 0 && row.ref.kind === "Installation");
  const parts = below.length > 0 ? below : rows.filter((row) => row.ref.kind === "DeployItem");
  const counted = legendOrder.map((each) => ({ ...each, n: parts.filter((row) => row.status.tone === each.tone).length })).filter((each) => each.n > 0);
  if (counted.length === 0) return null;
  return <div class="legend">{counted.map((each) => <span key={each.tone} class={`s-${colour(each.tone)}`}><StatusIcon status={{ tone: each.tone, word: "" }} />{each.words(each.n)}</span>)}</div>;
}

function Done({ doc }: { doc: Installation }) {
  const took = doc.job?.start && doc.job.end ? ` in ${duration(secondsBetween(doc.job.start, doc.job.end))}` : "";
  return <section class="panel done-line" aria-label="Why" id="why" tabIndex={-1}><StatusIcon status={doc.status} /><span><b>{doc.status.word}</b> <Age since={doc.status.since ?? doc.job?.end} after=" ago" />{took}. <span class="muted">{doc.progress.all > 0 ? `${progressWords(doc.progress)}.` : ""}</span></span></section>;
}

const linksAtMost = 5;

function WhyBox({ why, doc, onGo }: { why: Why; doc: Installation; onGo: (ref: Ref) => void }) {
  const [all, showAll] = useState(false);
  const fold = !all && why.chain.length > linksAtMost;
  const shown = fold ? [...why.chain.slice(0, 2), ...why.chain.slice(-2)] : why.chain;
  const holds = why.holdsUp.slice(0, 4);
  const tone = colour(why.tone);
  return (
    <section class={`panel whybox ${tone}`} id="why" tabIndex={-1} aria-labelledby="answer">
      <div class="why-main">
        <div class="why-l">
          <p class={`q s-${tone}`}><StatusIcon status={{ tone: why.tone, word: "" }} />{doc.status.tone === "going" || doc.status.tone === "going-failed" ? "Why is this not gone?" : "Why is this not done?"}</p>
          <h2 id="answer">{why.answer}</h2>
          {why.quote && <p class="say">{why.quotedBy || "The object"} says: <code><LongText text={why.quote} /></code></p>}
          <Explained at={why.reference} />
          {shown.length > 0 && (
            <ol class="chain" aria-label="From this installation down to the cause">
              {shown.map((link, i) => (
                <Fragment key={i}>
                  {fold && i === 2 && <li class="folded"><Icon name="more" class="faint" /><button type="button" class="linkish" onClick={() => showAll(true)}>{why.chain.length - 4} more</button></li>}
                  <li class={i === shown.length - 1 ? `root ${colour(link.status.tone)}` : ""}>
                    <StatusIcon status={link.status} /><span class="k">{link.ref.kind}</span>
                    <button type="button" class="nm linkish" title={`${link.ref.namespace}/${link.ref.name}`} onClick={() => onGo(link.ref)}>{link.ref.name}</button>
                    <span class="d" title={link.status.message}>{link.status.message || link.status.word}</span>
                  </li>
                </Fragment>
              ))}
            </ol>
          )}
        </div>
        {(why.next || why.commands.length > 0) && (
          <div class="why-r"><h3>Next</h3>
            {why.next && <p>{why.next}</p>}
            {why.commands.map((command) => <CommandLine key={command} text={command} />)}
          </div>
        )}
      </div>
      {(holds.length > 0 || why.others.length > 0) && (
        <div class="whyfoot">
          {holds.length > 0 && <span class="any">Holds up {holds.map((ref, i) => <span key={key(ref)}>{i > 0 && ", "}<RefLink to={ref}><b>{ref.name}</b></RefLink></span>)}{why.holdsUp.length > holds.length && ` and ${number(why.holdsUp.length - holds.length)} more`}</span>}
          {why.others.map((other, i) => <span key={i} class="any"><Icon name="waiting" class="s-waiting" />Another cause: {other}</span>)}
        </div>
      )}
    </section>
  );
}

function Values({ doc, selected, select, drawer }: { doc: Installation; selected: string; select: (id: string) => void; drawer: ComponentChildren }) {
  const phone = useMedia("(max-width: 767px)");
  const [shown, show] = useQuery("graph");
  const nodes = doc.graph.nodes.filter((node) => !node.group);
  const sheet = phone && drawer ? <div class="sheet-below">{drawer}</div> : null;
  if (nodes.length === 0 || (nodes.length === 1 && doc.graph.edges.length === 0)) return <>{phone ? sheet : drawer && <section class="panel">{drawer}</section>}</>;
  if (phone && shown !== "on") return <><button type="button" class="btn wide" onClick={() => show("on")}><Icon name="tree" />Show the graph of {count(nodes.length, "part")}</button>{sheet}</>;
  const legend = (
    <div class="legend sp hide-s" aria-hidden="true">
      <span><svg width="22" height="6"><path class="edge there" d="M0 3h22" /></svg>value is there</span>
      <span><svg width="22" height="6"><path class="edge cut" d="M0 3h22" /></svg>cut by a failure</span>
      <span><svg width="22" height="6"><path class="edge missing" d="M0 3h22" /></svg>missing</span>
    </div>
  );
  return (
    <>
      <Panel title="Values between installations" count={number(nodes.length)} head={phone ? <button type="button" class="btn quiet sp" onClick={() => show("")}>Hide</button> : legend} class="values">
        <div class={`split${drawer && !phone ? " open" : ""}`}><GraphBox graph={doc.graph} selected={selected} onSelect={(id) => select(id === selected ? "" : id)} label="Installations and the values between them" />{!phone && drawer}</div>
      </Panel>
      {sheet}
    </>
  );
}

function Tree({ doc, selected, select, set, setOpen, looks, onLook }: {
  doc: Installation; selected: string; select: (id: string) => void; set: ReadonlyMap<string, boolean>; setOpen: (set: ReadonlyMap<string, boolean>) => void; looks: Looks;
  onLook: (id: string) => void;
}) {
  const [mode, setMode] = useQuery("rows", "all");
  const small = useStore(compact);
  const [hovered, hover] = useState("");
  const phone = useMedia("(max-width: 767px)");
  const running = !doc.job?.end && doc.rows.some((row) => row.spans.some((span) => !span.end));
  const now = useNow(running);
  const open = useMemo(() => unfolded(doc.rows, set), [doc.rows, set]);
  const items = useMemo(() => {
    const shown = visible(doc.rows, open, mode as Mode);
    return mode === "all" ? withLive(shown, open, looks) : shown;
  }, [doc.rows, open, mode, looks]);
  const folds = useMemo(() => new Set([...foldable(doc.rows), ...doc.rows.filter((row) => row.ref.kind === "DeployItem").map((row) => row.id)]), [doc.rows]);
  const byID = useMemo(() => new Map(doc.rows.map((row) => [row.id, row])), [doc.rows]);
  const critical = useMemo(() => criticalPath(doc.rows), [doc.rows]);
  const scale = scaleOf(doc.rows, doc.job, now);
  const open_ = doc.rows.filter((row) => row.status.tone !== "done").length;
  const box = useRef<HTMLDivElement>(null);
  const at = useMemo(() => new Map(items.map((row, i) => [row.id, i])), [items]);
  const put = (id: string, is: boolean) => setOpen(new Map(set).set(id, is));
  const step = (by: number) => {
    const grave = items.filter((row) => needsSomebody(row.status.tone) && !items.some((other) => other.parent === row.id && needsSomebody(other.status.tone)));
    const i = grave.findIndex((row) => row.id === selected);
    const to = grave[i < 0 ? (by > 0 ? 0 : grave.length - 1) : (i + by + grave.length) % grave.length];
    if (!to) return;
    select(to.id);
    box.current?.scrollIntoView({ block: "nearest" });
  };
  useCommands({ next: () => step(1), previous: () => step(-1) });
  const onKey = (event: KeyboardEvent, row: Row) => {
    if (event.key === "ArrowRight" && folds.has(row.id)) put(row.id, true);
    else if (event.key === "ArrowLeft" && open.has(row.id)) put(row.id, false);
    else if (event.key === " ") press(row);
    else return;
    event.preventDefault();
  };
  // A live object has no drawer: it opens that of its deploy item.
  const press = (row: Row) => (isLiveRow(row) ? onLook(row.target ?? "") : select(row.id === selected ? "" : row.id));
  const rowHeight = small ? 28 : 32;
  const height = phone ? 60 : rowHeight;
  const link = (row: Row) => {
    if (!critical.includes(row.id) && row.id !== hovered && row.id !== selected) return undefined;
    const other = lastWaitedFor(row, byID);
    const up = other && at.get(other.id);
    const here = at.get(row.id);
    return other && up !== undefined && here !== undefined && up < here ? { linkTo: other, rowsUp: here - up } : undefined;
  };
  const before = (doc.past ?? []).find((job) => job.id !== doc.job?.id && job.start && job.end);
  const last = before?.start && before.end ? duration(secondsBetween(before.start, before.end)) : undefined;
  const head = (
    <>
      <Segments label="Rows" value={mode as Mode} onChange={setMode} options={[{ value: "all", text: "All" }, { value: "open", text: "Not done", count: number(open_) }, ...(critical.length > 0 ? [{ value: "critical" as Mode, text: "Critical path" }] : [])]} />
      {scale && <div class="legend sp hide-s" aria-hidden="true">
        <span><svg width="22" height="8"><line class="w-wait" x1="0" x2="22" y1="4" y2="4" /></svg>waits</span>
        <span><svg width="22" height="10"><rect width="22" height="10" rx="2" class="w-done" /></svg>works</span>
        <span><svg width="14" height="14"><path d="M7 0v10" class="w-link" /><circle cx="7" cy="10" r="3" class="w-dot" /></svg>what it waited for last</span></div>}
    </>
  );
  return (
    <div ref={box} class="contents-box">
      <Panel title={doc.job?.id ? `Job ${doc.job.id.slice(0, 8)}` : "Tree"} head={head} class="tree">
        {items.length === 0 ? <Empty icon="done" tone="s-done" title="Everything is done" /> : (
          <Rows items={items} id={(row) => row.id} height={height} label="Tree of objects and their job" columns={`wf${scale ? "" : " nobars"}${small ? " compact" : ""}`} onKey={onKey}
            onOpen={(row, event) => (event instanceof KeyboardEvent && !isLiveRow(row) ? openRow(row, doc, select) : press(row))}
            attributes={(row) => ({
              class: `row l${Math.min(row.depth, 7)}${row.id === selected ? " sel" : ""}${isLiveRow(row) ? " livingrow" : ""}`, "aria-level": row.depth + 1, "aria-selected": row.id === selected,
              "aria-expanded": mode === "all" && folds.has(row.id) ? open.has(row.id) : undefined,
            })}
            stamp={(row) => row.status.word + row.status.tone}
            head={<><HeadCell class="cn">Name</HeadCell><HeadCell class="cp">Phase</HeadCell><HeadCell class="cm">Waits for</HeadCell><HeadCell class="bar">{scale ? <><span class="sr">Time</span><Axis scale={scale} running={running} /></> : ""}</HeadCell></>}
            draw={(row) => (
              <>
                <Cell class="cn"><span class="tree" onPointerEnter={() => hover(row.id)}>
                  {mode === "all" && folds.has(row.id) ? <button type="button" class="tw" tabIndex={-1} aria-label={`${open.has(row.id) ? "Fold" : "Unfold"} ${row.title}`} onClick={() => put(row.id, !open.has(row.id))}><Icon name={open.has(row.id) ? "chevd" : "chev"} /></button> : <span class="tw" />}
                  <span class={`nmx cutoff${row.depth === 0 || row.id === selected ? " strong" : ""}`} title={`${row.ref.namespace}/${row.ref.name}`}>{row.title}</span>{row.ref.kind !== "Installation" && <span class="kind">{row.ref.kind}</span>}</span></Cell>
                <Cell class="cp"><State status={row.status} /></Cell>
                <Cell class={`cm${row.depth === 0 && doc.progress.failed > 0 ? " hot" : ""}`}><span class="cutoff" title={row.waitsFor || row.status.message}>{row.depth === 0 && row.status.tone !== "done" ? progressWords(doc.progress) : row.waitsFor || (row.status.tone === "done" ? waitedWords(row, byID) : row.status.message) || ""}</span></Cell>
                <Cell class="bar">{scale && <><span class="sr">{barWords(row, now, byID)}</span><Bars row={row} scale={scale} now={now} running={running} height={phone ? 20 : rowHeight} cause={row.status.tone === "waits"} {...(phone ? {} : link(row))} /></>}</Cell>
              </>
            )} />
        )}
        {(critical.length > 1 || last) && (
          <footer class="any">
            {critical.length > 1 && <span>Longest chain: {critical.map((id, i) => <span key={id}>{i > 0 && ", "}<button type="button" class="linkish" onClick={() => select(id)}><b>{byID.get(id)?.title}</b></button></span>)}</span>}
            {last && <a class="link" href="#past">The job before took {last}</a>}
          </footer>
        )}
      </Panel>
    </div>
  );
}

function waitedWords(row: Row, byID: ReadonlyMap<string, Row>): string {
  const other = lastWaitedFor(row, byID);
  return other ? `waited for ${other.title}` : "";
}

function openRow(row: Row, doc: Installation, select: (id: string) => void): void {
  const page = row.ref.kind === "Installation" && key(row.ref) !== key(doc.ref) ? pageOf(row.ref) : undefined;
  if (page) go(page);
  else select(row.id);
}

export function EventsPanel({ events }: { events: Event[] }) {
  if (events.length === 0) return null;
  return <Panel title="Events" count={number(events.length)}><Timeline events={events} none="" about /></Panel>;
}
