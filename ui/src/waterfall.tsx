// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The bars of a job, one svg per row, with positions in percent so that they need no style.
import type { Row } from "./documents";
import { clock, duration } from "./format";
import { bars, endOf, lastWaitedFor, place, worked, type Scale } from "./tree-model";
import { colour } from "./tone";

export function Axis({ scale, running }: { scale: Scale; running: boolean }) {
  const long = scale.end - scale.start > 10 * 60_000;
  return (
    <svg class="bars" aria-hidden="true">
      {scale.ticks.map((tick, i) => Math.abs(tick.at - scale.now) > 7 || !running ? <text key={i} class="w-ax" x={`${tick.at}%`} y="20" text-anchor={i === 0 ? "start" : "middle"}>{clock(tick.time, !long)}</text> : null)}
      {running && <text class="w-ax now" x={`${scale.now}%`} y="20" text-anchor="middle">now</text>}
    </svg>
  );
}

/** Bars draws the bars of one row. rowsUp is how many rows above the row is that it waited for, if the link is drawn. */
export function Bars({ row, scale, now, running, linkTo, rowsUp, height, cause }: {
  row: Row; scale: Scale; now: number; running: boolean; linkTo?: Row; rowsUp?: number; height: number; cause: boolean;
}) {
  const parts = bars(row, scale, now);
  const mid = height / 2;
  const top = row.depth === 0;
  const thick = top ? 6 : row.ref.kind === "Installation" ? 12 : 8;
  const via = row.ref.kind === "Execution" && row.status.tone === "failed";
  const linkAt = linkTo ? endOf(linkTo) : undefined;
  return (
    <svg class="bars" aria-hidden="true">
      {scale.ticks.map((tick, i) => <line key={i} class="w-grid" x1={`${tick.at}%`} x2={`${tick.at}%`} y1="0" y2={height + 1} />)}
      {running && <line class="w-nowline" x1={`${scale.now}%`} x2={`${scale.now}%`} y1="0" y2={height + 1} />}
      {parts.map((part, i) => part.what === "waits"
        ? <line key={i} class={part.open && cause ? "w-cause" : "w-wait"} x1={`${part.x}%`} x2={`${part.x + part.width}%`} y1={mid} y2={mid} />
        : <rect key={i} class={`w-${top && colour(part.tone) === "running" ? "idle" : colour(part.tone)}${part.what === "init" ? " w-init" : ""}${via ? " w-via" : ""}`}
            x={`${part.x}%`} width={`${part.width}%`} y={mid - thick / 2} height={thick} rx={Math.min(3, thick / 2)} />)}
      {linkAt !== undefined && rowsUp !== undefined && (
        <><line class="w-link" x1={`${place(scale, linkAt)}%`} x2={`${place(scale, linkAt)}%`} y1={mid - rowsUp * height} y2={mid} /><circle class="w-dot" cx={`${place(scale, linkAt)}%`} cy={mid} r="3" /></>
      )}
      {!top && <BarText row={row} now={now} parts={parts} mid={mid} cause={cause} />}
    </svg>
  );
}

function BarText({ row, now, parts, mid, cause }: { row: Row; now: number; parts: ReturnType<typeof bars>; mid: number; cause: boolean }) {
  const last = parts[parts.length - 1];
  if (!last) return null;
  const waits = last.what === "waits";
  if (waits && !cause) return null;
  const seconds = waits ? (now - Date.parse(row.spans[row.spans.length - 1]?.start ?? "")) / 1000 : worked(row, now);
  if (seconds === undefined || !Number.isFinite(seconds)) return null;
  const end = last.x + last.width;
  const kind = waits ? " w" : colour(last.tone) === "failed" ? " f" : "";
  if (end <= 84) return <text class={`w-t${kind}`} x={`${end}%`} dx="7" y={mid + 4}>{duration(seconds)}</text>;
  const start = parts.find((part) => part.what !== "waits")?.x ?? 0;
  if (!waits && start >= 18) return <text class={`w-t${kind}`} x={`${start}%`} dx="-7" y={mid - 6} text-anchor="end">{duration(seconds)}</text>;
  return <text class={`w-t${kind}`} x={`${end}%`} dx="-4" y={mid - 7} text-anchor="end">{duration(seconds)}</text>;
}

/** barWords describes the bars, for screen readers. */
export function barWords(row: Row, now: number, byID: ReadonlyMap<string, Row>): string {
  const seconds = worked(row, now);
  const waited = lastWaitedFor(row, byID);
  return [
    seconds === undefined ? "has not started" : `${endOf(row) === undefined ? "works for" : "took"} ${duration(seconds)}`,
    waited ? `${seconds === undefined ? "waits" : "waited"} for ${waited.title}` : "",
  ].filter(Boolean).join(", ");
}
