// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The live objects of a deploy item in its target cluster, down to pods, each of them as YAML.
import { useState } from "preact/hooks";
import { api } from "../api";
import type { Asked } from "../asked";
import { Dialog } from "../dialog";
import { mask, maskedWords } from "../diff-model";
import type { Live, LiveObject, Row } from "../documents";
import { number } from "../format";
import { Icon } from "../icons";
import { belowWords, canOpen, isOver, liveWords, opensAtFirst, sidesOf, type Side } from "../live-model";
import { AgainButton, Loading, LongText, RefusedBox, Segments, State, StatusIcon, useBook, useMedia } from "../parts";
import { YamlText } from "./yaml";

/** LiveSection requests nothing itself: its parent does, so that the table and the drawer have the same answer. */
export function LiveSection({ row, asked, onAgain }: { row: Row; asked: Asked<Live> | undefined; onAgain: () => void }) {
  const answer = asked?.answer;
  const [opened, open] = useState<LiveObject>();
  return (
    <section aria-label={`Live objects of ${row.title}`}>
      <h3><Icon name="target" class="faint" />In the target now <AgainButton busy={asked?.asking ?? true} at={asked?.at} label="Look again" onClick={onAgain} /></h3>
      {asked?.refused && <RefusedBox refused={asked.refused} what="What is in the target cannot be shown." />}
      {answer?.message && <p class="note"><Icon name="unknown" class="s-waiting" /><span><LongText text={answer.message} limit={300} /></span></p>}
      {!answer && !asked?.refused && <Loading rows={3} />}
      {answer && answer.objects.length === 0 && !answer.message && <p class="muted">It has no objects in its target now.</p>}
      {answer && answer.objects.length > 0 && (
        <>
          <p class="faint sumup">{liveWords(answer.objects)}</p>
          <ul class="livetree" aria-label={`Objects of ${row.title} in its target`}>{answer.objects.map((object, i) => <Branch key={`${object.kind}/${object.namespace}/${object.name}/${i}`} object={object} onOpen={open} />)}</ul>
        </>
      )}
      {opened && <ObjectDialog item={row} object={opened} onClose={() => open(undefined)} />}
    </section>
  );
}

const childrenAtFirst = 20;

/** Branch shows its namespace only where it differs from that of the object above it. */
function Branch({ object, above, onOpen }: { object: LiveObject; above?: LiveObject; onOpen: (object: LiveObject) => void }) {
  const [chosen, choose] = useState<boolean>();
  const [all, showAll] = useState(false);
  const open = chosen ?? opensAtFirst(object);
  const shown = all ? object.below : object.below.slice(0, childrenAtFirst);
  return (
    <li>
      <div class="leaf">
        {object.below.length > 0
          ? <button type="button" class="tw" aria-expanded={open} aria-label={`${belowWords(object)} of ${object.name}`} onClick={() => choose(!open)}><Icon name={open ? "chevd" : "chev"} /></button>
          : <span class="tw" />}
        <span class="what">{canOpen(object) ? <button type="button" class="linkish any" title={`Show this ${object.kind} as YAML`} aria-haspopup="dialog" onClick={() => onOpen(object)}>{object.name}</button> : <span class="any">{object.name}</span>} <small title={object.apiVersion}>{object.kind}{object.namespace && object.namespace !== above?.namespace ? ` in ${object.namespace}` : ""}{!open && object.below.length > 0 ? ` · ${belowWords(object)}` : ""}</small></span>
        <State status={object.status} />
        {object.status.message && <p class={`said${object.status.tone === "failed" ? " s-failed" : ""}`}><LongText text={object.status.message} limit={240} /></p>}
      </div>
      {open && object.below.length > 0 && (
        <ul>{shown.map((each, i) => <Branch key={`${each.kind}/${each.namespace}/${each.name}/${i}`} object={each} above={object} onOpen={onOpen} />)}
          {shown.length < object.below.length && <li><button type="button" class="linkish" onClick={() => showAll(true)}>{number(object.below.length - shown.length)} more</button></li>}</ul>
      )}
    </li>
  );
}

/** ObjectDialog shows an object as it is in the target, beside what its deploy item wants if there is room. */
function ObjectDialog({ item, object, onClose }: { item: Row; object: LiveObject; onClose: () => void }) {
  const [asked, again] = useBook(() => api.liveObject(item.ref, object), `${object.kind}/${object.namespace}/${object.name}`);
  const [chosen, choose] = useState<Side>("live");
  const wide = useMedia("(min-width: 1100px)");
  const answer = isOver(asked) ? undefined : asked?.answer;
  const sides = answer ? sidesOf(answer) : [];
  const shown = wide ? sides : sides.filter((each) => each.side === chosen || sides.length === 1);
  const masked = answer ? sides.reduce((sum, each) => sum + each.text.split(mask).length - 1, 0) : 0;
  return (
    <Dialog label={`${object.kind} ${object.name}`} class={`liveobject${wide && sides.length > 1 ? " two" : ""}`} onClose={onClose}>
      <div class="hd"><StatusIcon status={object.status} large />
        <div class="grow"><h2 class="any">{object.name}</h2><p class="sub any">{object.kind} · {object.apiVersion}{object.namespace ? ` · in ${object.namespace}` : ""} · {object.status.word}</p></div>
        <AgainButton busy={asked?.asking ?? true} at={asked?.at} label="Read it again" onClick={again} />
        <button type="button" class="btn quiet icon" aria-label="Close" onClick={onClose}><Icon name="x" /></button></div>
      {!wide && sides.length > 1 && <div class="bar"><Segments label="Which of them" value={chosen} options={sides.map((each) => ({ value: each.side, text: each.title }))} onChange={choose} /></div>}
      {asked?.refused && <div class="padded"><RefusedBox refused={asked.refused} what={`${object.kind} ${object.name} cannot be shown.`} /></div>}
      {!answer && !asked?.refused && <div class="padded"><Loading rows={8} /></div>}
      {answer && (
        <div class="sides">{shown.map((each) => (
          <section key={each.side} aria-label={each.title}>{wide && sides.length > 1 && <h3>{each.title}</h3>}<YamlText text={each.text} label={`${object.kind} ${object.name}${each.side === "rendered" ? " as it was rendered" : ""}`} /></section>
        ))}</div>
      )}
      {answer && (
        <footer>
          {answer.cut && <p><Icon name="warn" class="s-waiting" />It is too long to be shown as a whole: the end is left out.</p>}
          {masked > 0 && <p><Icon name="lock" class="faint" />{maskedWords(masked)}</p>}
          {sides.length === 1 && <p><Icon name="unknown" class="faint" />{object.kind === "Pod" || object.kind === "ReplicaSet" ? "Kubernetes has made it: the deploy item says nothing of it." : "What it was rendered as is not in the configuration of its deploy item."}</p>}
        </footer>
      )}
    </Dialog>
  );
}
