// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// State that all pages share: the user, the last known state of everything, settings of this browser, the clock.
import { useEffect, useState } from "preact/hooks";
import type { Action, Me, Overview, Ref, Tone } from "./documents";
import type { Phase } from "./live";
import { key } from "./refs";
import { Store, useStore } from "./store";

export const me = new Store<Me | undefined>(undefined);
export const overview = new Store<Overview | undefined>(undefined);
export const dot = new Store<{ phase: Phase; since?: number }>({ phase: "opening" });
/** toast is the answer to the last action. */
export const toast = new Store<{ text: string; bad: boolean; command?: string } | undefined>(undefined);
/** pageActions are the actions of the page, for the palette. */
export const pageActions = new Store<{ action: Action; run: () => void }[]>([]);

function remembered<T>(name: string, fallback: T): Store<T> {
  let first = fallback;
  try {
    const text = localStorage.getItem(`espalier.${name}`);
    if (text !== null) first = JSON.parse(text) as T;
  } catch {
    // A browser without storage starts with the defaults each time.
  }
  const store = new Store<T>(first);
  store.subscribe(() => {
    try {
      localStorage.setItem(`espalier.${name}`, JSON.stringify(store.value));
    } catch {
      // As above.
    }
  });
  return store;
}

export type Theme = "system" | "light" | "dark";
export const theme = remembered<Theme>("theme", "system");
/** compact reduces the height of rows in lists. */
export const compact = remembered<boolean>("compact", false);
export const singleKeys = remembered<boolean>("keys", true);
export const seen = remembered<string[]>("seen", []);
export interface Pin { ref: Ref; tone: Tone; word: string }
export const pins = remembered<Pin[]>("pins", []);

/** showTheme sets the theme on the page: nothing for that of the system. */
export function showTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

/** togglePin pins the page of an object to the side bar, or unpins it. */
export function togglePin(pin: Pin): void {
  const rest = pins.value.filter((each) => key(each.ref) !== key(pin.ref));
  pins.set(rest.length < pins.value.length ? rest : [...rest, pin].slice(-12));
}

/** notePin records the current state of a pinned page. */
export function notePin(pin: Pin): void {
  const at = pins.value.findIndex((each) => key(each.ref) === key(pin.ref));
  const old = pins.value[at];
  if (!old || (old.tone === pin.tone && old.word === pin.word)) return;
  pins.set(pins.value.map((each, i) => (i === at ? pin : each)));
}

// The server's clock is authoritative: ages are counted from it, and continue while it is down.
let offset = 0;

/** setClock sets the server's time from a document. */
export function setClock(serverNow: string): void {
  const at = Date.parse(serverNow);
  if (!Number.isNaN(at)) offset = at - Date.now();
}

/** serverNow returns the time of the server, in milliseconds. */
export function serverNow(): number {
  return Date.now() + offset;
}

const second = new Store(0);
window.setInterval(() => document.hidden || second.set(second.value + 1), 1000);

/** useTicking returns the result of a function, and redraws only in seconds in which it changes. */
export function useTicking<T extends string | number>(say: () => T): T {
  const [said, set] = useState(say);
  const now = say();
  useEffect(() => {
    set(say());
    return second.subscribe(() => set(say()));
  });
  return now === said ? said : now;
}

/** useNow returns the server's time in milliseconds, updated each second if ticks is set. */
export function useNow(ticks: boolean): number {
  useStore(second, (value) => (ticks ? value : 0));
  return serverNow();
}
