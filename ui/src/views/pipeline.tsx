// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Environments and the gates between them, the preview of an approval, revisions on their way.
import { Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ActionButton, Actions, ask, Menu } from "../actions";
import { useCommands } from "../commands";
import type { Consent, Environment, FieldShift, Gate, Lane, Mark, Pipeline, TargetCell } from "../documents";
import { Explained } from "../explained";
import { absolute, clock, count, duration, moment, number } from "../format";
import { byObject, gateIcon, holding, leadOf } from "../gate-model";
import { useGlide } from "../glide";
import { cardSpot, gateSpot } from "../glide-model";
import { Icon } from "../icons";
import { Body, useLive, Verdict } from "../page";
import { Age, CommandLine, copyText, Empty, Hidden, Left, Panel, Pill, Revision, StatusIcon } from "../parts";
import { key } from "../refs";
import { RequestLink } from "../request";
import { Scroller } from "../scroller";
import { notePin, pageActions, pins, serverNow, togglePin } from "../state";
import { useStore } from "../store";
import { colour } from "../tone";
import { EventsPanel } from "./installation";

export function PipelineView({ namespace, name }: { namespace: string; name: string }) {
  const live = useLive<Pipeline>(`/api/v1/stream/pipelines/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
  return (
    <Body live={live} title={`${name} pipeline`}>
      {(doc) => doc.exists ? <Page doc={doc} /> : (
        <>
          <Panel><Empty icon="pipe" title={`There is no pipeline ${name} in ${namespace}`} text="It was deleted, it has another name, or you may not see it." command={`espalier pipeline get -n ${namespace}`}><a class="btn" href="/pipelines">All pipelines</a></Empty></Panel>
          <Hidden notes={doc.hidden} />
        </>
      )}
    </Body>
  );
}

function Page({ doc }: { doc: Pipeline }) {
  const asked = doc.environments.filter((env) => env.approval);
  const toApproval = () => {
    const panel = document.getElementById("approval");
    panel?.scrollIntoView({ block: "start" });
    panel?.focus({ preventScroll: true });
  };
  const arrived = useRef(false);
  useEffect(() => {
    // The first content may be from an earlier visit, without the approval. The frame lets the new page take the focus first.
    if (arrived.current || asked.length === 0 || window.location.hash !== "#approval") return;
    arrived.current = true;
    requestAnimationFrame(toApproval);
  }, [asked.length]);
  useEffect(() => {
    notePin({ ref: doc.ref, tone: doc.status.tone, word: doc.status.word });
    pageActions.set([
      ...doc.actions.map((action) => ({ action, run: () => ask(action, { ref: doc.ref }) })),
      ...doc.environments.flatMap((env) => env.actions.filter((action) => action.id !== "approve").map((action) => ({
        action: { ...action, id: `${action.id}-${env.name}` }, run: () => ask(action, { ref: doc.ref, environment: env.name, revision: env.coming }),
      }))),
    ]);
  }, [doc]);
  useCommands({ approval: toApproval, "copy-command": () => void copyText(`espalier pipeline why ${doc.ref.name} -n ${doc.ref.namespace}`, "Command copied") });
  return (
    <div class="pipeline-page">
      <Verdict text={doc.verdict} eyebrow={<Eyebrow doc={doc} />} actions={<Actions actions={doc.actions} subject={{ ref: doc.ref }} first={1} />} />
      <Board doc={doc} />
      {asked.map((env, i) => <Approval key={env.name} doc={doc} env={env} approval={env.approval as Consent} first={i === 0} />)}
      <Lanes doc={doc} />
      <EventsPanel events={doc.events} />
      <Hidden notes={doc.hidden} />
    </div>
  );
}

function Eyebrow({ doc }: { doc: Pipeline }) {
  const pinned = useStore(pins, (all) => all.some((pin) => key(pin.ref) === key(doc.ref)));
  const targets = doc.environments.reduce((sum, env) => sum + env.targets.length, 0);
  return (
    <>
      <span>Pipeline</span><i>·</i><span class="any">{doc.ref.namespace}</span><i>·</i><span class="num">{count(targets, "target")}</span>
      {doc.suspended && <><i>·</i><Pill status={{ tone: "stopped", word: "Suspended" }} /></>}
      <button type="button" class="linkish hide-s" aria-pressed={pinned} onClick={() => togglePin({ ref: doc.ref, tone: doc.status.tone, word: doc.status.word })}><Icon name="pin" />{pinned ? "Pinned" : "Pin"}</button>
    </>
  );
}

/** scrollsFrom is the number of environments from which the board scrolls sideways. */
const scrollsFrom = 5;

function Board({ doc }: { doc: Pipeline }) {
  const box = useRef<HTMLElement>(null);
  const many = doc.environments.length >= scrollsFrom;
  useGlide(() => box.current?.querySelector<HTMLElement>(".board") ?? null, doc.environments);
  if (doc.environments.length === 0) return <Panel title="Environments"><Empty icon="pipe" title="This pipeline has no environments" text="Add some to spec.environments." /></Panel>;
  return (
    <section ref={box} aria-label="Environments" class="contents-box">
      <Scroller class={`board${many ? " many" : ""}`} label={`${count(doc.environments.length, "environment")} and the gates between them`}>
        {doc.environments.map((env, i) => (
          <Fragment key={env.name}>
            {(i > 0 || env.coming || env.gates.length > 0) && <Gates env={env} from={doc.environments[i - 1]?.name} />}
            <Card env={env} doc={doc} />
          </Fragment>
        ))}
      </Scroller>
    </section>
  );
}

function health(env: Environment): string {
  const p = env.progress;
  if (p.all === 0) return env.status.word;
  if (p.failed > 0) return `${number(p.failed)} of ${number(p.all)} ${p.failed === 1 ? "fails" : "fail"}`;
  if (p.done < p.all) return `${number(p.done)} of ${number(p.all)} ready`;
  return env.status.tone === "done" ? `${number(p.all)} of ${number(p.all)} healthy` : env.status.word;
}

function Card({ env, doc }: { env: Environment; doc: Pipeline }) {
  const actions = env.actions.filter((action) => !["approve", "reject"].includes(action.id));
  return (
    <article class="envcard" aria-label={env.name} data-needy={env.status.tone === "failed" || env.approval ? "" : undefined}>
      <div class="hd">
        <div class="t"><span class="cutoff" title={env.name}>{env.name}</span><Pill status={env.status} word={health(env)} /></div>
        <div class="big" data-spot={env.revision ? cardSpot(env.name) : undefined}><span class="cutoff" title={env.revision}>{env.revision || "—"}</span>{env.since && <small><Age since={env.since} before="for " /></small>}</div>
        {env.status.message && env.status.tone !== "done" && <p class={`note s-${colour(env.status.tone)}`}>{env.status.message}</p>}
        <Explained at={env.status.reference} />
      </div>
      {env.targets.length > 0 ? <Cells cells={env.targets} name={doc.ref.name} /> : <p class="nothing">No targets.</p>}
      {actions.length > 0 && <div class="ft"><span class="grow cutoff">{env.coming ? `${env.coming} is on its way` : env.status.word}</span><Menu actions={actions} subject={{ ref: doc.ref, environment: env.name, revision: env.coming ?? env.revision }} label={`Actions on ${env.name}`} /></div>}
    </article>
  );
}

const cellsAtMost = 8;

function Cells({ cells, name }: { cells: TargetCell[]; name: string }) {
  const [all, showAll] = useState(false);
  const sorted = useMemo(() => [...cells].sort((a, b) => Number(a.ready) - Number(b.ready)), [cells]);
  const shown = all ? sorted : sorted.slice(0, cellsAtMost);
  return (
    <ul class="tg">
      {shown.map((cell) => (
        <li key={`${cell.cluster}/${cell.namespace}`}><StatusIcon status={cell.status} /><span class="cutoff" title={`${cell.cluster ?? ""} ${cell.namespace}`}>{cell.cluster || cell.namespace}<span class="sr">, {cell.status.word}</span></span><span class="rv cutoff" title={cell.revision}>{cell.revision}</span>
          {cell.status.tone !== "done" && (cell.status.message || cell.status.word) && <span class={`note s-${colour(cell.status.tone)}`}>{cell.cluster ? (cell.status.message || cell.status.word) : <a class="link" href={`/installations?q=${encodeURIComponent(`${name} ${cell.namespace}`)}`}>{cell.status.message || cell.status.word}</a>}</span>}</li>
      ))}
      {shown.length < cells.length && <li class="more"><button type="button" class="linkish" onClick={() => showAll(true)}>{number(cells.length - shown.length)} more{sorted[cellsAtMost]?.ready ? ", all ready" : ""}</button></li>}
    </ul>
  );
}

const gateTones: Record<string, string> = { "not-reached": "s-idle", counting: "s-waiting", passed: "s-done", yours: "s-you", others: "s-you", failed: "s-failed", held: "s-idle" };

function Gates({ env, from }: { env: Environment; from: string | undefined }) {
  const held = env.coming ? holding(env.gates) : undefined;
  const tone = held?.state === "yours" ? "you" : held?.state === "failed" ? "failed" : held?.state === "counting" ? "waiting" : env.coming ? "going" : "idle";
  return (
    <div class={`gatecol ${tone}`} role="group" data-needy={tone === "you" || tone === "failed" ? "" : undefined} aria-label={from ? `Gates from ${from} to ${env.name}` : `Gates before ${env.name}`}>
      <div class="moving">{env.coming && <Revision of={env.coming} icon="chev" kind="moves" spot={gateSpot(env.name)} />}</div>
      {env.gates.length > 0 && (
        <ul class="gates">
          {env.gates.map((gate, i) => (
            <li key={i} class={gate.state === "yours" ? "on" : gate.state === "not-reached" ? "off" : ""}>
              <Icon name={gateIcon(gate)} class={gateTones[gate.state] ?? "s-idle"} /><b>{gate.label}</b><GateDetail gate={gate} /><Explained at={gate.reference} />
            </li>
          ))}
        </ul>
      )}
      {env.request && <RequestLink request={env.request} />}
    </div>
  );
}

function GateDetail({ gate }: { gate: Gate }) {
  if (gate.state === "counting" && gate.until) return <small><Left until={gate.until} />{gate.detail ? `, ${gate.detail}` : ""}</small>;
  if (gate.state === "passed" && gate.since) return <small title={absolute(gate.since)}>{gate.detail || `passed at ${moment(gate.since, serverNow())}`}</small>;
  if (gate.state === "yours" && gate.since) return <small><Age since={gate.since} before="waits for " />{gate.detail ? `, ${gate.detail}` : ""}</small>;
  return gate.detail ? <small>{gate.detail}</small> : <small>{gate.until ? <>until {clock(gate.until)}</> : gateWords[gate.state] ?? ""}</small>;
}

const gateWords: Record<string, string> = { "not-reached": "not reached yet", passed: "passed", yours: "waits for you", others: "not by you", failed: "failed", held: "held", counting: "counting" };

function Approval({ doc, env, approval, first }: { doc: Pipeline; env: Environment; approval: Consent; first: boolean }) {
  const objects = useMemo(() => byObject(approval.changes), [approval.changes]);
  const [at, setAt] = useState(0);
  const shown = objects[Math.min(at, objects.length - 1)];
  const subject = { ref: doc.ref, environment: env.name, revision: approval.revision };
  const approve = env.actions.find((action) => action.id === "approve");
  const reject = env.actions.find((action) => action.id === "reject");
  return (
    <section class="panel approve" id={first ? "approval" : undefined} tabIndex={-1} aria-label={`Approval of ${approval.revision} for ${env.name}`}>
      <header>
        <div class="grow"><h2>What changes in {env.name} if you approve {approval.revision}</h2><p>{approval.since ? <Age since={approval.since} before="Waits for " after="." /> : "Waits for a person."}</p></div>
        <div class="btns sp">{reject && <ActionButton action={reject} subject={subject} />}{approve && <ActionButton action={approve} subject={subject} kind="you" />}</div>
      </header>
      <dl class="facts">
        {approval.facts.map((fact, i) => <div key={i}><dt>{fact.label}</dt><dd>{fact.text}</dd></div>)}
      </dl>
      {shown ? (
        <div class="dsplit">
          <ul class="objs" aria-label="Objects that change">
            {objects.map((object, i) => (
              <li key={object.name}><button type="button" aria-pressed={i === at} onClick={() => setAt(i)}><Icon name="edit" class="faint" /><span class="cutoff" title={object.name}>{object.name}</span>
                <span class="pm"><span class="a">+{object.shifts.length}</span> <span class="d">−{object.shifts.filter((shift) => shift.before !== undefined && shift.before !== "").length}</span></span></button></li>
            ))}
          </ul>
          <Diff name={shown.name} shifts={shown.shifts} />
        </div>
      ) : <p class="nothing">What changes is not known before it is written.</p>}
      {approve && <footer><span>Approve from a terminal</span><CommandLine text={approve.command} /></footer>}
    </section>
  );
}

function Diff({ name, shifts }: { name: string; shifts: FieldShift[] }) {
  return (
    <div class="diff" tabIndex={0} role="group" aria-label={`Changes of ${name}`}>
      <div class="fn"><b class="any">{name}</b><span>{count(shifts.length, "field")}</span></div>
      <pre>
        {shifts.map((shift, i) => (
          <span key={i}><span class="ln hunk"><i /><span> </span><span>{shift.field}</span></span>
            {shift.before !== undefined && shift.before !== "" && shift.before.split("\n").map((line, j) => <span key={`d${j}`} class="ln del"><i>{j + 1}</i><span aria-label="before">-</span><span>{line}</span></span>)}
            {shift.after.split("\n").map((line, j) => <span key={`a${j}`} class="ln add"><i>{j + 1}</i><span aria-label="after">+</span><span>{line}</span></span>)}</span>
        ))}
      </pre>
    </div>
  );
}

const lanesAtMost = 12;

function Lanes({ doc }: { doc: Pipeline }) {
  const [all, showAll] = useState(false);
  const shown = all ? doc.lanes : doc.lanes.slice(0, lanesAtMost);
  const leads = shown.map(leadOf);
  const longest = Math.max(1, ...leads.map((lead) => lead ?? 0));
  if (doc.lanes.length === 0) return null;
  return (
    <Panel title="Revisions" count={doc.leadTime > 0 ? `half arrive within ${duration(doc.leadTime)}` : undefined}>
      <Scroller class="scrolls" label="Revisions by environment">
        <table class={`tbl lanes${doc.environments.length >= scrollsFrom ? " many" : ""}`}>
          <thead><tr><th class="c1" scope="col">Revision</th>{doc.environments.map((env) => <th key={env.name} scope="col"><span class="cutoff">{env.name}</span></th>)}<th class="c5" scope="col">Lead time</th></tr></thead>
          <tbody>
            {shown.map((lane, i) => (
              <tr key={lane.revision}>
                <th scope="row" class="c1"><Revision of={lane.revision} kind={lane.ended === "superseded" ? "superseded" : ""} /> <span class="faint">{lane.ended}</span></th>
                {doc.environments.map((env, j) => <LaneCell key={env.name} lane={lane} env={env.name} at={j} last={lastAt(lane, doc)} />)}
                <td class="c5 num">{leads[i] !== undefined && <div class="lead"><svg aria-hidden="true"><rect width="100%" height="8" rx="2" class="p-rest" /><rect width={`${((leads[i] as number) / longest) * 100}%`} height="8" rx="2" class="k-idle" /></svg><span class="muted">{duration(leads[i] as number)}</span></div>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
      {shown.length < doc.lanes.length && <footer><button type="button" class="linkish" onClick={() => showAll(true)}>All {number(doc.lanes.length)} revisions</button></footer>}
    </Panel>
  );
}

function lastAt(lane: Lane, doc: Pipeline): number {
  const last = lane.marks[lane.marks.length - 1];
  return last ? doc.environments.findIndex((env) => env.name === last.environment) : -1;
}

/**
 * LaneCell draws the part of a lane in an environment: a line where it has passed, dashes where it is on its way, a mark where it
 * was.
 */
function LaneCell({ lane, env, at, last }: { lane: Lane; env: string; at: number; last: number }) {
  const mark = lane.marks.find((each) => each.environment === env);
  const first = lane.marks[0]?.environment === env;
  const end = lane.marks[last]?.tone ?? lane.marks[lane.marks.length - 1]?.tone ?? "done";
  if (at > last) return <td class="go none" />;
  const before = at < last - 1 || end === "done" ? "pass" : `way ${colour(end)}`;
  const into = at < last || end === "done" ? "pass" : `way ${colour(end)}`;
  return (
    <td class="go">
      <div class="lane">
        <svg class="laneline" aria-hidden="true">
          {!first && <line class={into} x1="0" x2="20" y1="23" y2="23" />}
          {at < last && <line class={before} x1="20" x2="100%" y1="23" y2="23" />}
        </svg>
        {mark && <><StatusIcon status={{ tone: mark.tone, word: mark.reason ?? "" }} /><MarkWords mark={mark} env={env} />{mark.request && <RequestLink request={mark.request} brief />}</>}
      </div>
    </td>
  );
}

function MarkWords({ mark, env }: { mark: Mark; env: string }) {
  const tone = colour(mark.tone);
  const when = mark.time ? moment(mark.time, serverNow()) : "";
  const words = tone === "done" ? [when, mark.by && `by ${mark.by}`].filter(Boolean).join(", ") : [mark.reason || when, mark.by && `by ${mark.by}`].filter(Boolean).join(" ");
  return <span class={`words ${tone === "done" ? "" : `s-${tone}`}`} title={[mark.time && absolute(mark.time), mark.reason].filter(Boolean).join(" ")}><i class="only-s">{env}</i>{words}</span>;
}
