// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The display of a state: as a shape, a word and a colour, in this order.
import type { Status, Tone } from "./documents";

export type Colour = "failed" | "you" | "waiting" | "running" | "done" | "idle";

const colours: Record<Tone, Colour> = {
  "not-yet": "idle", works: "running", done: "done", failed: "failed", going: "idle", "going-failed": "failed",
  waits: "waiting", person: "you", stopped: "idle", unknown: "idle",
};

const shapes: Record<Tone, string> = {
  "not-yet": "pending", works: "progressing", done: "done", failed: "failed", going: "deleting", "going-failed": "deletefailed",
  waits: "waiting", person: "you", stopped: "held", unknown: "unknown",
};

/** colour returns the name of the tokens of a tone. An unknown tone looks like an unknown state. */
export function colour(tone: Tone): Colour {
  return colours[tone] ?? "idle";
}

/** shape returns the name of the icon of a state: a pie fills while work is in progress. */
export function shape(status: Pick<Status, "tone" | "word">): string {
  if (status.tone === "works") {
    if (status.word === "Init" || status.word === "CleanupOrphaned") return "init";
    if (status.word === "ObjectsCreated") return "created";
    if (status.word === "Completing") return "completing";
  }
  if (status.tone === "stopped" && /^(Rejected|Abandoned)/.test(status.word)) return "rejected";
  return shapes[status.tone] ?? "unknown";
}

const gravity: Tone[] = ["failed", "going-failed", "person", "waits", "unknown", "works", "going", "not-yet", "stopped", "done"];

/** grave orders tones: the most severe is 0. */
export function grave(tone: Tone): number {
  const at = gravity.indexOf(tone);
  return at < 0 ? gravity.indexOf("unknown") : at;
}

/** gravest returns the tone of groups and verdicts. */
export function gravest(tones: Iterable<Tone>): Tone {
  let worst: Tone = "done";
  for (const tone of tones) if (grave(tone) < grave(worst)) worst = tone;
  return worst;
}

/** needsSomebody reports whether n and p stop at it. */
export function needsSomebody(tone: Tone): boolean {
  return tone === "failed" || tone === "going-failed" || tone === "person" || tone === "waits";
}
