// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The live objects of a deploy item in its target cluster. All of it is pure.
import type { Asked } from "./asked";
import type { Live, LiveObject, LiveYAML, Row, Tone } from "./documents";
import { count, number } from "./format";
import { gravest } from "./tone";

/** stampOf changes with the known state of a deploy item: its live objects are then requested again. */
export function stampOf(row: Row): string {
  return JSON.stringify([row.status.tone, row.status.word, row.status.since, row.status.message, row.objects]);
}

/** worst returns the most severe tone of an object and of everything below it. */
export function worst(object: LiveObject): Tone {
  return gravest([object.status.tone, ...object.below.map(worst)]);
}

/** opensAtFirst reports whether an object is unfolded at first: if something below it is not done. */
export function opensAtFirst(object: LiveObject): boolean {
  return object.below.some((each) => worst(each) !== "done");
}

/** canOpen reports whether an object can be shown as YAML: if it exists, and the server names it. */
export function canOpen(object: LiveObject): boolean {
  return Boolean(object.apiVersion) && object.name !== "?" && object.status.word !== "Gone";
}

export type Side = "live" | "rendered";

/** sidesOf returns the texts of an object to show side by side, or one at a time, the live one first. */
export function sidesOf(answer: LiveYAML): { side: Side; title: string; text: string }[] {
  const live = { side: "live" as const, title: "In the target now", text: answer.live };
  return answer.rendered ? [live, { side: "rendered" as const, title: "As it was rendered", text: answer.rendered }] : [live];
}

/** isOver reports whether the known state of an object is no longer worth showing: it is gone, or may not be read. */
export function isOver(asked: Asked<LiveYAML> | undefined): boolean {
  return asked?.refused !== undefined && [403, 404, 422].includes(asked.refused.status);
}

function all(objects: LiveObject[]): LiveObject[] {
  return objects.flatMap((object) => [object, ...all(object.below)]);
}

/** liveWords counts: "3 objects, 4 pods, 2 not ready". Pods are counted separately, because users look for them. */
export function liveWords(objects: LiveObject[]): string {
  const every = all(objects);
  const pods = every.filter((object) => object.kind === "Pod").length;
  const bad = every.filter((object) => object.status.tone !== "done").length;
  const words = [count(every.length - pods, "object")];
  if (pods > 0) words.push(count(pods, "pod"));
  if (bad > 0) words.push(`${number(bad)} not ready`);
  return words.join(", ");
}

/** belowWords describes what a folded object hides: "3 pods" or "2 objects". */
export function belowWords(object: LiveObject): string {
  const every = all(object.below);
  return every.every((each) => each.kind === "Pod") ? count(every.length, "pod") : count(every.length, "object");
}

export const liveKind = "live";

/** isLiveRow reports whether a row of the table stands for an object in a target. */
export function isLiveRow(row: Row): boolean {
  return row.type === liveKind;
}

/** liveRows returns rows for the table, below that of the deploy item: objects, or a sentence where there are none to show. */
export function liveRows(item: Row, asked: Asked<Live> | undefined): Row[] {
  const answer = asked?.answer;
  const rows: Row[] = [];
  const sentence = (tone: Tone, word: string, message: string) => rows.push(liveRow(item, item, rows.length, { kind: "", name: word, status: { tone, word, message }, below: [] }));
  const put = (object: LiveObject, above: Row) => {
    const row = liveRow(item, above, rows.length, object);
    rows.push(row);
    for (const each of object.below) put(each, row);
  };
  for (const object of answer?.objects ?? []) put(object, item);
  if (asked?.refused) sentence("unknown", "Not shown", asked.refused.message);
  else if (!answer) sentence("not-yet", "Looking", `at the target of ${item.title}`);
  else if (answer.message) sentence("unknown", "Not known", answer.message);
  else if (rows.length === 0) sentence("not-yet", "Nothing", "it has no objects in its target now");
  return rows;
}

function liveRow(item: Row, above: Row, at: number, object: LiveObject): Row {
  return {
    id: `${item.id}#${at}`, parent: above.id, depth: above.depth + 1, title: object.name, status: object.status, type: liveKind, target: item.id,
    ref: { kind: object.kind, namespace: object.namespace ?? "", name: object.name }, ...(object.status.message ? { waitsFor: object.status.message } : {}),
    spans: [], waitedFor: [], imports: [], exports: [], objects: [],
  };
}

/** withLive inserts the live objects of unfolded deploy items below them. */
export function withLive(rows: Row[], open: ReadonlySet<string>, live: ReadonlyMap<string, Asked<Live>>): Row[] {
  return rows.flatMap((row) => (row.ref.kind === "DeployItem" && open.has(row.id) ? [row, ...liveRows(row, live.get(row.id))] : [row]));
}
