// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What the next job would change. It is requested on demand, since the server must render the blueprint for it.
import { useId, useMemo, useState } from "preact/hooks";
import { api } from "../api";
import { changeLook, diffText, diffWords, isLong, maskedWords, pieces, placeWords, sizeWords, tally, type Piece } from "../diff-model";
import type { Diff, Installation, ObjectDiff } from "../documents";
import { count, number } from "../format";
import { Icon } from "../icons";
import { AgainButton, CopyButton, Empty, Loading, LongText, Panel, RefusedBox, useBook } from "../parts";
import { useQuery } from "../router";

const title = "What would a job change?";

export function ChangesPanel({ doc }: { doc: Installation }) {
  const [shown, show] = useQuery("diff");
  if (shown !== "on") {
    return (
      <section class="panel changes closed" id="changes" aria-label={title}>
        <div class="grow"><h2>{title}</h2><p class="muted">The blueprint and those of all installations below are rendered with the imports as they are now, and compared with what is there. Nothing is changed.</p></div>
        <button type="button" class="btn" onClick={() => show("on")}><Icon name="diff" />Show the changes</button>
      </section>
    );
  }
  return <Shown doc={doc} onHide={() => show("")} />;
}

function Shown({ doc, onHide }: { doc: Installation; onHide: () => void }) {
  const stamp = JSON.stringify([doc.job?.id, doc.job?.end, doc.status.word, doc.version]);
  const [asked, again] = useBook(() => api.diff(doc.ref.namespace, doc.ref.name), stamp);
  const diff = asked?.answer;
  const head = <span class="sp btns"><AgainButton busy={asked?.asking ?? true} at={asked?.at} label="Compare again" onClick={again} /><button type="button" class="btn quiet" onClick={onHide}>Hide</button></span>;
  return (
    <Panel title={title} id="changes" count={diff ? diffWords(diff) || undefined : undefined} head={head} class="changes">
      {asked?.refused && <div class="padded"><RefusedBox refused={asked.refused} what="What would change cannot be shown." /></div>}
      {!diff && !asked?.refused && <div class="padded"><Loading rows={5} /></div>}
      {diff && <Objects diff={diff} name={doc.ref.name} />}
    </Panel>
  );
}

function Objects({ diff, name }: { diff: Diff; name: string }) {
  const masked = diff.objects.reduce((sum, object) => sum + tally(object).masked, 0);
  if (diff.objects.length === 0 && diff.notes.length > 0) {
    return <><Empty icon="done" tone="s-done" title="As far as is known, the next job would change nothing" /><Notes diff={diff} /></>;
  }
  if (diff.objects.length === 0) {
    return <Empty icon="done" tone="s-done" title={diff.message || `A job of ${name} would change nothing`} />;
  }
  return (
    <>
      <Notes diff={diff} />
      <ul class="objdiffs">{diff.objects.map((object, i) => <OneObject key={`${object.ref.kind}/${object.ref.namespace}/${object.ref.name}/${i}`} object={object} />)}</ul>
      {masked > 0 && <footer><Icon name="lock" /><span>{maskedWords(masked)} You see whether they change, but not how.</span></footer>}
    </>
  );
}

/** Notes lists what is unknown before the job. */
function Notes({ diff }: { diff: Diff }) {
  const notes = [...(diff.message ? [diff.message] : []), ...diff.notes];
  if (notes.length === 0) return null;
  return <ul class="diffnotes" aria-label="What cannot be known, or is left out">{notes.map((note, i) => <li key={i} class="note"><Icon name="warn" class="s-waiting" /><span class="any"><LongText text={note} limit={400} /></span></li>)}</ul>;
}

function OneObject({ object }: { object: ObjectDiff }) {
  const [chosen, choose] = useState<boolean>();
  const open = chosen ?? !isLong(object);
  const of = tally(object);
  const look = changeLook(object.change);
  const id = useId();
  const name = object.title || object.ref.name;
  return (
    <li>
      <div class="objhead">
        <button type="button" class="opens" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => choose(!open)}>
          <Icon name={open ? "chevd" : "chev"} class="faint" /><Icon name={look.icon} class={look.colour} />
          <span class="who"><b class="any">{name}</b> <small class="any">{object.ref.kind} {object.ref.namespace ? `${object.ref.namespace}/` : ""}{object.ref.name}{object.within ? ` · of ${placeWords(object.within)}` : ""}</small></span>
          <span class={`word ${look.colour}`}>{look.word}</span>
          <span class="pm" aria-hidden="true">{of.added > 0 && <span class="a">+{number(of.added)}</span>} {of.removed > 0 && <span class="d">−{number(of.removed)}</span>}</span>
          <span class="sr">, {sizeWords(of)}{open ? "" : `, ${count(object.lines.length, "line")} folded`}</span>
        </button>
        <CopyButton text={diffText(object)} label={`Copy the changes of ${name}`} quiet />
      </div>
      {open && <Lines id={id} object={object} name={name} />}
    </li>
  );
}

const words: Record<string, string> = { "+": "added", "-": "removed" };

function Lines({ id, object, name }: { id: string; object: ObjectDiff; name: string }) {
  const [opened, set] = useState<ReadonlySet<number>>(new Set());
  const shown = useMemo(() => pieces(object.lines, opened), [object.lines, opened]);
  return (
    <div class="diff" id={id} tabIndex={0} role="group" aria-label={`Changes of ${name}`}>
      <pre>{shown.map((piece, i) => <PieceLine key={i} piece={piece} onOpen={(from) => set(new Set(opened).add(from))} />)}</pre>
    </div>
  );
}

function PieceLine({ piece, onOpen }: { piece: Piece; onOpen: (from: number) => void }) {
  if (piece.kind === "gap") {
    return <span class="ln hunk"><i /><span> </span><span><button type="button" class="linkish" onClick={() => onOpen(piece.from)}>{count(piece.lines, "line")} that {piece.lines === 1 ? "stays" : "stay"}</button></span></span>;
  }
  const { line } = piece;
  const kind = line.op === "+" ? "add" : line.op === "-" ? "del" : "";
  return (
    <span class={`ln ${kind}`}><i aria-hidden="true">{piece.new ?? piece.old}</i><span class="sign" aria-hidden="true">{line.op === "-" ? "−" : line.op}</span>
      <span>{kind && <span class="sr">{words[line.op]}: </span>}{line.text || " "}{"\n"}</span></span>
  );
}
