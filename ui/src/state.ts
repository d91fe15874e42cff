// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// What all pages share: who looks, what was last known of everything, settings of this browser, the clock.
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
/** pageActions are those of the page, for the palette. */
export const pageActions = new Store<{ action: Action; run: () => void }[]>([]);

function remembered<T>(name: string, fallback: T): Store<T> {
  let first = fallback;
  try {
    const text = localStorage.getItem(`espalier.${name}`);
    if (text !== null) first = JSON.parse(text) as T;
  } catch {
    // A browser that keeps nothing starts anew each time.
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
/** compact says that rows of lists are low. */
export const compact = remembered<boolean>("compact", false);
export const singleKeys = remembered<boolean>("keys", true);
export const seen = remembered<string[]>("seen", []);
export interface Pin { ref: Ref; tone: Tone; word: string }
export const pins = remembered<Pin[]>("pins", []);

/** showTheme sets the theme on the page: nothing for the one of the system. */
export function showTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

/** togglePin pins the page of an object to the side bar, or takes it off. */
export function togglePin(pin: Pin): void {
  const rest = pins.value.filter((each) => key(each.ref) !== key(pin.ref));
  pins.set(rest.length < pins.value.length ? rest : [...rest, pin].slice(-12));
}

/** notePin keeps the state of a pinned page as it is now. */
export function notePin(pin: Pin): void {
  const at = pins.value.findIndex((each) => key(each.ref) === key(pin.ref));
  const old = pins.value[at];
  if (!old || (old.tone === pin.tone && old.word === pin.word)) return;
  pins.set(pins.value.map((each, i) => (i === at ? pin : each)));
}

// The server's clock rules: ages are counted from it, and go on while it is away.
let offset = 0;

/** setClock takes over the server's time from a document. */
export function setClock(serverNow: string): void {
  const at = Date.parse(serverNow);
  if (!Number.isNaN(at)) offset = at - Date.now();
}

/** serverNow is the time of the server, in milliseconds. */
export function serverNow(): number {
  return Date.now() + offset;
}

const second = new Store(0);
window.setInterval(() => document.hidden || second.set(second.value + 1), 1000);

/** useTicking gives what a function says, and draws anew only in seconds in which it says something else. */
export function useTicking<T extends string | number>(say: () => T): T {
  const [said, set] = useState(say);
  const now = say();
  useEffect(() => {
    set(say());
    return second.subscribe(() => set(say()));
  });
  return now === said ? said : now;
}

/** useNow is the server's time in milliseconds, each second if it is asked to tick. */
export function useNow(ticks: boolean): number {
  useStore(second, (value) => (ticks ? value : 0));
  return serverNow();
}
