// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The keys in section 8 of the design, as a state machine that is independent of the browser.

export type Command =
  | "palette" | "help" | "filter" | "escape" | "go-overview" | "go-installations" | "go-pipelines" | "go-targets"
  | "next" | "previous" | "why" | "values" | "copy-command" | "copy-link" | "reconcile" | "approval"
  | "tab-1" | "tab-2" | "tab-3" | "tab-4" | "group";

export interface Press { key: string; ctrl: boolean; meta: boolean; alt: boolean; typing: boolean; at: number }

const single: Record<string, Command> = {
  "?": "help", "/": "filter", n: "next", p: "previous", w: "why", v: "values", c: "copy-command", y: "copy-link",
  r: "reconcile", a: "approval", "1": "tab-1", "2": "tab-2", "3": "tab-3", "4": "tab-4", G: "group",
};

const afterG: Record<string, Command> = { o: "go-overview", i: "go-installations", p: "go-pipelines", t: "go-targets" };

/** patience is how long g waits for a second key, in milliseconds. */
const patience = 1200;

/** Keyboard turns key presses into commands. Single keys can be disabled; then only Ctrl K and Escape work. */
export class Keyboard {
  singles = true;
  private g = -Infinity;

  press(press: Press): Command | undefined {
    if ((press.ctrl || press.meta) && !press.alt && press.key.toLowerCase() === "k") return "palette";
    if (press.key === "Escape") return "escape";
    if (press.typing || !this.singles || press.ctrl || press.meta || press.alt) return undefined;
    const follows = press.at - this.g <= patience;
    this.g = press.key === "g" ? press.at : -Infinity;
    if (follows && afterG[press.key]) return afterG[press.key];
    return Object.hasOwn(single, press.key) ? single[press.key] : undefined;
  }
}

/** keyTable is the content of the list of keys. */
export const keyTable: [string, string][] = [
  ["Ctrl K", "search, commands"], ["?", "this list"], ["/", "filter of this page"], ["Esc", "close what floats, then clear the filter"],
  ["g o", "overview"], ["g i", "installations"], ["g p", "pipelines"], ["g t", "targets"],
  ["n", "next thing that needs attention"], ["p", "previous one"], ["↑ ↓", "rows"], ["← →", "fold, unfold; in the graph along values"],
  ["Enter", "open"], ["Space", "drawer of the row or node"], ["w", "why"], ["v", "values"], ["c", "copy the command"],
  ["y", "copy a link with the whole view"], ["r", "reconcile, with a question"], ["a", "go to the preview of the approval"],
  ["1 to 4", "tabs of the drawer"], ["G", "group by name, namespace, state, nothing"], ["+ − 0", "in the graph: larger, smaller, all of it"],
];

/** moveIn returns the next place in a list of rows for a key, or undefined if the key does not move. */
export function moveIn(key: string, at: number, length: number, page: number): number | undefined {
  if (length === 0) return undefined;
  const last = length - 1;
  switch (key) {
    case "ArrowDown": return Math.min(last, at + 1);
    case "ArrowUp": return Math.max(0, at - 1);
    case "PageDown": return Math.min(last, at + page);
    case "PageUp": return Math.max(0, at - page);
    case "Home": return 0;
    case "End": return last;
    default: return undefined;
  }
}
