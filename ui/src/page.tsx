// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The common parts of pages with a stream: the document, the banner while it is not live, and the announcement of changes.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { NextTry } from "./actions";
import { announce } from "./announce";
import { api, Refusal } from "./api";
import { age, clock } from "./format";
import { open, type LiveState, type Stream } from "./live";
import { Banner, Loading } from "./parts";
import { go } from "./router";
import { dot, me, setClock, useTicking } from "./state";

const kept = new Map<string, unknown>();

function keep(address: string, doc: unknown): void {
  kept.delete(address);
  kept.set(address, doc);
  const oldest = kept.keys().next().value;
  if (kept.size > 8 && oldest !== undefined) kept.delete(oldest);
}

/** sessionHolds checks who is logged in, and redirects to the login if nobody is. */
export async function sessionHolds(): Promise<boolean> {
  try {
    me.set(await api.me());
    return true;
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) return true;
    go(`/login?next=${encodeURIComponent(window.location.pathname + window.location.search)}`);
    return false;
  }
}

const noChange = <T,>(doc: T) => doc;

/** useLive provides the document of a stream as long as the component is mounted. */
export function useLive<T extends { now: string; verdict: string }>(address: string, change: (doc: T, data: unknown) => T = noChange):
  { state: LiveState<T>; retry: () => void } {
  const [held, set] = useState<{ address: string; state: LiveState<T>; stream?: Stream<T> }>(() => ({ address, state: begin<T>(address) }));
  useEffect(() => {
    const stream = open<T>(address, begin<T>(address), change, sessionHolds);
    let verdict = stream.state.doc?.verdict;
    const look = () => {
      const { state } = stream;
      dot.set({ phase: state.phase, since: state.since });
      if (state.doc) {
        if (state.phase === "live") setClock(state.doc.now);
        keep(address, state.doc);
        if (verdict !== undefined && verdict !== state.doc.verdict) announce(state.doc.verdict, 3);
        verdict = state.doc.verdict;
      }
      set({ address, state, stream });
    };
    look();
    const leave = stream.subscribe(look);
    return () => {
      leave();
      stream.close();
    };
  }, [address]);
  const state = held.address === address ? held.state : begin<T>(address);
  return { state, retry: () => held.stream?.retry() };
}

function begin<T>(address: string): LiveState<T> {
  const doc = kept.get(address) as T | undefined;
  return doc === undefined ? { phase: "opening" } : { phase: "catching-up", doc };
}

/** Body is the main part of a page: banners, then its content once its document has arrived. */
export function Body<T>({ live, title, children }: { live: { state: LiveState<T>; retry: () => void }; title: string; children: (doc: T) => ComponentChildren }) {
  const { state, retry } = live;
  useEffect(() => {
    document.title = `${title} · Espalier`;
  }, [title]);
  return (
    <>
      {state.phase === "lost" && state.since !== undefined && (
        <Banner tone="waiting" icon="unknown" action={<button type="button" class="btn" onClick={retry}>Try now</button>}>
          <b>Not live since {clock(state.since)}.</b> {state.at !== undefined && <StateOf at={state.at} />} <NextTry at={state.retryAt} />
        </Banner>
      )}
      {state.problem && (
        <Banner tone="failed" icon="failed"><b>The cluster cannot be read{state.problem.since ? ` since ${clock(state.problem.since)}` : ""}:</b> {state.problem.message}</Banner>
      )}
      {state.doc === undefined ? (state.problem ? null : <Loading rows={9} />) : children(state.doc)}
    </>
  );
}

function StateOf({ at }: { at: number }) {
  return <>You see the state of {useTicking(() => age((Date.now() - at) / 1000))} ago.</>;
}

/** Verdict is the one-sentence summary of a page. */
export function Verdict({ text, eyebrow, children, actions }: { text: string; eyebrow?: ComponentChildren; children?: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <div class="headrow">
      <header class="verdict">
        {eyebrow && <div class="eyebrow">{eyebrow}</div>}
        <h1 title={text.length > 200 ? text : undefined}>{text}</h1>
        {children}
      </header>
      {actions}
    </div>
  );
}
