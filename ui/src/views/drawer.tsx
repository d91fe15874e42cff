// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The known state of one object: values, objects, events, log. Values are requested on demand, with the user's rights.
import { useId, useState } from "preact/hooks";
import { api, Refusal } from "../api";
import type { Asked } from "../asked";
import type { Deployed, Event, Live, Ref, Row, Value } from "../documents";
import { Explained } from "../explained";
import { absolute, clock, number } from "../format";
import { Icon } from "../icons";
import { Age, CommandLine, CopyButton, Loading, LongText, RefLink, StatusIcon, useBook } from "../parts";
import { key } from "../refs";
import { typed, typesNote } from "../values-model";
import { LiveSection } from "./live";
import { Log } from "./logs";
import { YamlText } from "./yaml";

export const tabs = ["values", "objects", "events", "log"] as const;
export type Tab = (typeof tabs)[number];
const tabWords: Record<Tab, string> = { values: "Values", objects: "Objects", events: "Events", log: "Log" };

export function Drawer({ row, events, tab, live, onTab, onClose, onGo, onAgain }: {
  row: Row; events: Event[]; tab: Tab; live: Asked<Live> | undefined; onTab: (tab: Tab) => void; onClose: () => void; onGo: (ref: Ref) => void; onAgain: () => void;
}) {
  const mine = events.filter((event) => key(event.about) === key(row.ref));
  const id = useId();
  const counts: Record<Tab, number> = { values: row.imports.length + row.exports.length, objects: row.objects.length, events: mine.length, log: 0 };
  const keys = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const to = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length] as Tab;
    onTab(to);
    document.getElementById(`${id}-${to}`)?.focus();
  };
  return (
    <aside class="drawer" aria-label={`${row.ref.kind} ${row.title}`}>
      <div class="hd">
        <div class="t"><StatusIcon status={row.status} large /><div class="grow"><b class="name" title={`${row.ref.namespace}/${row.ref.name}`}>{row.title}</b><span class="sub">{row.ref.kind}{row.type && <> · <span title={row.type}>{row.type.split("/").pop()}</span></>} · {row.status.word} <Age since={row.status.since} before="for " /></span></div>
          <button type="button" class="btn quiet icon" aria-label="Close" onClick={onClose}><Icon name="x" /></button></div>
        {row.status.message && <p class={`message ${row.status.tone === "failed" || row.status.tone === "going-failed" ? "s-failed" : ""}`}><LongText text={row.status.message} limit={240} /></p>}
        <Explained at={row.status.reference} />
        <div class="seg tabs" role="tablist" aria-label={`Parts of ${row.title}`} onKeyDown={keys}>
          {tabs.map((each, i) => (
            <button type="button" key={each} role="tab" id={`${id}-${each}`} aria-selected={each === tab} aria-controls={`${id}-panel`} tabIndex={each === tab ? 0 : -1} onClick={() => onTab(each)} title={`Key ${i + 1}`}>
              {tabWords[each]}{counts[each] > 0 && <span class="num">{number(counts[each])}</span>}
            </button>
          ))}
        </div>
      </div>
      <div class="in" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tab}`} tabIndex={0}>
        {tab === "values" && <Values key={row.id} row={row} onGo={onGo} />}
        {tab === "objects" && <Objects key={row.id} row={row} live={live} onAgain={onAgain} />}
        {tab === "events" && <Timeline events={mine} none={`No recent events of ${row.title}.`} />}
        {tab === "log" && <Log key={row.id} row={row} />}
      </div>
    </aside>
  );
}

/**
 * Values requests types and defaults where the blueprint is outside the cluster. Until they arrive, values are shown without
 * them.
 */
function Values({ row, onGo }: { row: Row; onGo: (ref: Ref) => void }) {
  const [asked, again] = useBook(() => api.declared(row.ref.namespace, row.ref.name), row.id, row.outside === true);
  const { imports, exports } = typed(row, asked?.answer);
  const note = row.outside ? typesNote(asked) : "";
  const there = imports.filter((value) => value.state === "there" || value.state === "default").length;
  const written = exports.filter((value) => value.state === "there").length;
  return (
    <>
      {imports.length > 0 && <section><h3><Icon name="in" class="faint" />Imports <span class="faint">{there} of {imports.length} {there === 1 && imports.length === 1 ? "is" : "are"} there</span></h3>{imports.map((value) => <ValueLine key={value.name} value={value} row={row} onGo={onGo} />)}</section>}
      {exports.length > 0 && <section><h3><Icon name="out" class="faint" />Exports <span class="faint">{written} of {exports.length} {written === 1 && exports.length === 1 ? "is" : "are"} written</span></h3>{exports.map((value) => <ValueLine key={value.name} value={value} row={row} onGo={onGo} out />)}</section>}
      {note && <section class="untyped"><p class="note" role="status"><Icon name="unknown" class="faint" /><span class="any">{note} {asked?.refused || asked?.answer?.message ? <button type="button" class="linkish" disabled={asked?.asking} onClick={again}>Try again</button> : null}</span></p></section>}
      {row.target && <section><h3><Icon name="box" class="faint" />Runs on</h3><div class="val"><span class="nm">{row.target}</span><span class="ty">Target</span></div></section>}
      {imports.length + exports.length === 0 && !row.target && !note && <p class="nothing">It has neither imports nor exports.</p>}
    </>
  );
}

const mask = "••••••••";

function ValueLine({ value, row, onGo, out }: { value: Value; row: Row; onGo: (ref: Ref) => void; out?: boolean }) {
  const [shown, set] = useState<{ text: string; cut: boolean } | Refusal | "asking">();
  const show = () => {
    if (!value.source || shown === "asking") return;
    set("asking");
    api.value(value.source, value.key ?? "").then(
      (answer) => set({ text: answer.value, cut: answer.truncated }),
      (error) => set(error instanceof Refusal ? error : new Refusal(0, String(error))));
  };
  const from = value.giver ?? value.source;
  const there = value.state === "there" || value.state === "default";
  return (
    <div class="val">
      <span class="nm" title={value.name}>{value.name}</span><span class="ty" title={value.type ? `${value.kind}, ${value.type}` : value.kind}>{value.type || kindWords[value.kind] || value.kind}</span>
      <div class={`v${value.state === "missing" ? " miss" : value.state === "not-written" && row.status.tone === "failed" ? " bad" : ""}`}>
        {value.state === "missing" && <><Icon name="waiting" class="s-waiting" />Missing</>}
        {value.state === "not-written" && <><Icon name={row.status.tone === "failed" ? "failed" : "pending"} class={row.status.tone === "failed" ? "s-failed" : "s-idle"} />Not written{row.status.tone === "failed" ? `: ${row.title} failed` : " yet"}</>}
        {value.state === "default" && value.default && <code class="any">{value.default}</code>}
        {there && !value.source && value.state !== "default" && <span>there</span>}
        {there && value.source && shown === undefined && (
          <button type="button" class="masked" onClick={show} aria-label={`Show the value of ${value.name}`}><Icon name={value.secret ? "lock" : "search"} /><code>{value.secret ? mask : "show"}</code></button>
        )}
        {shown === "asking" && <span class="faint" role="status">asking…</span>}
        {out && <span class="src"><Into value={value} /></span>}
        {!out && from && <span class="src"><Source value={value} from={from} onGo={onGo} /></span>}
        {!from && value.state === "default" && <span class="src">default of the blueprint</span>}
      </div>
      {out && value.takers && value.takers.length > 0 && (
        <div class="v takers"><span>for</span> {value.takers.map((taker, i) => <span key={key(taker)}>{i > 0 && ", "}<button type="button" class="linkish any" onClick={() => onGo(taker)}>{taker.name}</button></span>)}{value.otherTakers ? <span> and {number(value.otherTakers)} more</span> : null}</div>
      )}
      {shown instanceof Refusal && <div class="v bad" role="alert"><Icon name="lock" /><span>{shown.message}</span></div>}
      {shown instanceof Refusal && shown.command && <CommandLine text={shown.command} />}
      {shown !== undefined && shown !== "asking" && !(shown instanceof Refusal) && (
        <div class="shown"><pre><LongText text={shown.text} limit={value.secret ? 2000 : 80} />{shown.cut && "\n… cut by the server"}</pre><CopyButton text={shown.text} label={`Copy the value of ${value.name}`} />
          <button type="button" class="linkish" onClick={() => set(undefined)}>hide</button></div>
      )}
    </div>
  );
}

const kindWords: Record<string, string> = { targetList: "target" };

/** Into shows where an export goes: the name by which others import it, and the object that holds it on hover. */
function Into({ value }: { value: Value }) {
  const holder = value.source && `${value.source.kind} ${value.source.namespace}/${value.source.name}`;
  if (!value.reference) return holder ? <>into <span class="cutoff" title={holder}>{value.source?.kind} {value.source?.name}</span></> : null;
  return <>into <span class="mono cutoff" title={holder}>{value.reference}</span></>;
}

function Source({ value, from, onGo }: { value: Value; from: Ref; onGo: (ref: Ref) => void }) {
  const word = value.state === "missing" ? "needs" : "from";
  const named = from.kind === "Installation" || from.kind === "Execution" || from.kind === "DeployItem";
  return <>{word} {named ? <button type="button" class="linkish cutoff" onClick={() => onGo(from)}>{from.name}</button> : <span class="cutoff" title={`${from.kind} ${from.namespace}/${from.name}`}>{from.kind} {from.name}</span>}</>;
}

function Objects({ row, live, onAgain }: { row: Row; live: Asked<Live> | undefined; onAgain: () => void }) {
  const recorded = row.objects.length > 0 && !(live?.answer && live.answer.objects.length > 0);
  return (
    <>
      {row.ref.kind === "DeployItem" && <LiveSection row={row} asked={live} onAgain={onAgain} />}
      <section><h3><Icon name="edit" class="faint" />This object</h3><Yaml of={row.ref} label={`${row.ref.kind} ${row.ref.name}`} /></section>
      {recorded && <section><h3><Icon name="box" class="faint" />Deployed by it <span class="faint">{number(row.objects.length)}</span></h3>
        <ul class="deployed">{row.objects.slice(0, 500).map((object, i) => <DeployedLine key={i} object={object} />)}</ul></section>}
    </>
  );
}

function DeployedLine({ object }: { object: Deployed }) {
  return <li title={object.apiVersion}><span class="cutoff">{object.name}</span><small class="cutoff">{object.kind}{object.namespace ? ` in ${object.namespace}` : ""}</small></li>;
}

/** Yaml shows the live YAML of an object, on demand. */
export function Yaml({ of, label }: { of: Ref; label: string }) {
  const [text, set] = useState<string | Refusal | "asking">();
  if (text === undefined) {
    const show = () => {
      set("asking");
      api.object(of).then((answer) => set(answer.yaml), (error) => set(error instanceof Refusal ? error : new Refusal(0, String(error))));
    };
    return <button type="button" class="btn small" onClick={show}>Show YAML<span class="sr"> of {label}</span></button>;
  }
  if (text === "asking") return <Loading rows={4} />;
  if (text instanceof Refusal) return <><p class="s-failed" role="alert">{text.message}</p>{text.command && <CommandLine text={text.command} />}</>;
  return <YamlText text={text} label={label} />;
}

/** Timeline shows the newest events first; the server has folded equal ones. */
export function Timeline({ events, none, about }: { events: Event[]; none: string; about?: boolean }) {
  const [all, showAll] = useState(false);
  if (events.length === 0) return <p class="nothing">{none}</p>;
  const shown = all ? events : events.slice(0, 30);
  return (
    <>
      <ol class="timeline">
        {shown.map((event, i) => (
          <li key={i}><time dateTime={event.time} title={absolute(event.time)}>{clock(event.time)}</time><StatusIcon status={{ tone: event.tone, word: event.reason }} />
            <div><p><b>{event.reason}</b> <LongText text={event.message} limit={300} /></p>
              <small>{about && <><RefLink to={event.about} /> · </>}{event.by}{event.count > 1 && `${event.by ? " · " : ""}${number(event.count)} times`} <Age since={event.time} before="· " after=" ago" /></small></div></li>
        ))}
      </ol>
      {shown.length < events.length && <button type="button" class="linkish pad" onClick={() => showAll(true)}>{number(events.length - shown.length)} more</button>}
    </>
  );
}
