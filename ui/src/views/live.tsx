// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What a deploy item has in its target cluster now, down to pods.
import { useState } from "preact/hooks";
import type { Asked } from "../asked";
import type { Live, LiveObject, Row } from "../documents";
import { number } from "../format";
import { Icon } from "../icons";
import { belowWords, liveWords, opensAtFirst } from "../live-model";
import { AgainButton, Loading, LongText, RefusedBox, State } from "../parts";

/** LiveSection asks nothing by itself: whoever shows it does, so that the table and the drawer have the same answer. */
export function LiveSection({ row, asked, onAgain }: { row: Row; asked: Asked<Live> | undefined; onAgain: () => void }) {
  const answer = asked?.answer;
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
          <ul class="livetree" aria-label={`Objects of ${row.title} in its target`}>{answer.objects.map((object, i) => <Branch key={`${object.kind}/${object.namespace}/${object.name}/${i}`} object={object} />)}</ul>
        </>
      )}
    </section>
  );
}

const childrenAtFirst = 20;

/** Branch says its namespace only where it is not that of the object above it. */
function Branch({ object, above }: { object: LiveObject; above?: LiveObject }) {
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
        <span class="what"><span class="any">{object.name}</span> <small title={object.apiVersion}>{object.kind}{object.namespace && object.namespace !== above?.namespace ? ` in ${object.namespace}` : ""}{!open && object.below.length > 0 ? ` · ${belowWords(object)}` : ""}</small></span>
        <State status={object.status} />
        {object.status.message && <p class={`said${object.status.tone === "failed" ? " s-failed" : ""}`}><LongText text={object.status.message} limit={240} /></p>}
      </div>
      {open && object.below.length > 0 && (
        <ul>{shown.map((each, i) => <Branch key={`${each.kind}/${each.namespace}/${each.name}/${i}`} object={each} above={object} />)}
          {shown.length < object.below.length && <li><button type="button" class="linkish" onClick={() => showAll(true)}>{number(object.below.length - shown.length)} more</button></li>}</ul>
      )}
    </li>
  );
}
