// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// One stream of server-sent events per page. The last document stays while the stream is down, and the page says since when.
import type { Problem } from "./documents";

export type Phase = "opening" | "live" | "catching-up" | "lost" | "paused";

export interface LiveState<T> {
  phase: Phase;
  doc?: T;
  /** at is when the document arrived, by this machine's clock. */
  at?: number;
  /** since is when the stream was lost, retryAt when the next attempt is. */
  since?: number;
  retryAt?: number;
  problem?: Problem;
}

export type LiveEvent<T> =
  | { type: "snapshot"; doc: T; at: number }
  | { type: "change"; apply: (doc: T) => T; at: number }
  | { type: "problem"; problem: Problem; at: number }
  | { type: "beat"; at: number }
  | { type: "lost"; at: number; retryAt: number }
  | { type: "retry" }
  | { type: "pause" };

/** next returns the next state of a stream after an event. A change without a document does nothing: a snapshot must come first. */
export function next<T>(state: LiveState<T>, event: LiveEvent<T>): LiveState<T> {
  switch (event.type) {
    case "snapshot":
      return { phase: "live", doc: event.doc, at: event.at };
    case "change":
      return state.doc === undefined ? state : { phase: "live", doc: event.apply(state.doc), at: event.at };
    case "problem":
      return { ...live(state), problem: event.problem };
    case "beat":
      return live(state);
    case "lost":
      return { ...state, phase: "lost", since: state.phase === "lost" || state.since ? (state.since ?? event.at) : event.at, retryAt: event.retryAt };
    case "retry":
      return { ...state, phase: state.since ? "lost" : state.doc === undefined ? "opening" : "catching-up", retryAt: undefined };
    case "pause":
      return { ...state, phase: "paused", retryAt: undefined };
  }
}

function live<T>(state: LiveState<T>): LiveState<T> {
  return { doc: state.doc, at: state.at, problem: state.problem, phase: state.doc === undefined ? "opening" : "live" };
}

/** backoff returns how long to wait before an attempt, in milliseconds: from 1 s to 30 s, with jitter so that pages differ. */
export function backoff(attempt: number, random: number): number {
  return Math.round(Math.min(30_000, 1000 * 2 ** Math.min(attempt, 10)) * (0.75 + random / 2));
}

/** silence is how long a stream may be silent before it counts as dead: heartbeats come every 15 s. */
const silence = 40_000;

export interface Stream<T> { state: LiveState<T>; subscribe(listener: () => void): () => void; retry(): void; close(): void }

/**
 * open starts a stream. It is closed while the tab is hidden, and reopened when the tab is visible; a lost one is retried with
 * backoff. onLost is called before each attempt and may end the stream by returning false, when the session has expired.
 */
export function open<T>(address: string, first: LiveState<T>, change: (doc: T, data: unknown) => T, onLost: () => Promise<boolean>): Stream<T> {
  let state = first;
  let source: EventSource | undefined;
  let timer: number | undefined;
  let watch: number | undefined;
  let attempt = 0;
  let last = "";
  let ended = false;
  const listeners = new Set<() => void>();
  const tell = (event: LiveEvent<T>) => {
    state = next(state, event);
    for (const listener of listeners) listener();
  };
  const stop = () => {
    source?.close();
    source = undefined;
    window.clearTimeout(timer);
    window.clearTimeout(watch);
  };
  const lose = () => {
    stop();
    const wait = backoff(attempt++, Math.random());
    tell({ type: "lost", at: Date.now(), retryAt: Date.now() + wait });
    timer = window.setTimeout(() => void again(), wait);
  };
  const again = async () => {
    if (!(await onLost()) || ended || document.hidden) return;
    start();
  };
  const heard = () => {
    attempt = 0;
    window.clearTimeout(watch);
    watch = window.setTimeout(lose, silence);
  };
  const start = () => {
    stop();
    tell({ type: "retry" });
    // A new EventSource does not send the last event ID of the previous one.
    const stream = new EventSource(last ? `${address}?after=${encodeURIComponent(last)}` : address);
    source = stream;
    watch = window.setTimeout(lose, silence);
    const on = (name: string, then: (data: unknown) => void) => stream.addEventListener(name, (event) => {
      if (source !== stream) return;
      heard();
      last = (event as MessageEvent).lastEventId || last;
      then(JSON.parse((event as MessageEvent<string>).data));
    });
    on("snapshot", (data) => tell({ type: "snapshot", doc: data as T, at: Date.now() }));
    on("change", (data) => tell({ type: "change", apply: (doc) => change(doc, data), at: Date.now() }));
    on("problem", (data) => tell({ type: "problem", problem: data as Problem, at: Date.now() }));
    on("beat", () => tell({ type: "beat", at: Date.now() }));
    stream.onerror = () => source === stream && lose();
  };
  const seen = () => {
    if (document.hidden) {
      stop();
      tell({ type: "pause" });
    } else start();
  };
  document.addEventListener("visibilitychange", seen);
  if (!document.hidden) start();
  return {
    get state() { return state; },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    retry: () => void again(),
    close() {
      ended = true;
      stop();
      document.removeEventListener("visibilitychange", seen);
    },
  };
}
