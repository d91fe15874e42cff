// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Small components that all pages use. Text from the cluster is inserted as text, and only the style sheet truncates it.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { Book, type Asked } from "./asked";
import type { Progress as Counts, Ref, Status } from "./documents";
import { absolute, age, progressParts, progressWords, secondsBetween, shortRevision } from "./format";
import { Icon } from "./icons";
import { pageOf } from "./refs";
import type { Refusal } from "./refusal";
import { serverNow, useTicking } from "./state";
import { useStore } from "./store";
import { colour, shape } from "./tone";

/** StatusIcon is the shape of a state. */
export function StatusIcon({ status, large }: { status: Pick<Status, "tone" | "word">; large?: boolean }) {
  return <Icon name={shape(status)} class={`s-${colour(status.tone)}${large ? " lg" : ""}`} />;
}

/** State shows shape and word in a row; a healthy state is inconspicuous. */
export function State({ status, word }: { status: Pick<Status, "tone" | "word">; word?: string }) {
  return <span class={`st s-${colour(status.tone)}`}><StatusIcon status={status} /><span class="cutoff" title={word ?? status.word}>{word ?? status.word}</span></span>;
}

/** Pill shows shape and word in a box, which is tinted unless the state is done. */
export function Pill({ status, word }: { status: Pick<Status, "tone" | "word">; word?: string }) {
  return <span class={`pill ${colour(status.tone)}`}><StatusIcon status={status} /><span class="cutoff">{word ?? status.word}</span></span>;
}

/** Age shows how long ago something was. It is updated, and shows the full time on hover. */
export function Age({ since, before = "", after = "" }: { since: string | undefined; before?: string; after?: string }) {
  const text = useTicking(() => (since ? age(secondsBetween(since, serverNow())) : ""));
  if (!since) return null;
  return <time class="num" dateTime={since} title={absolute(since)}>{before}{text}{after}</time>;
}

/** Left shows how long it is until a time. */
export function Left({ until }: { until: string }) {
  const text = useTicking(() => {
    const seconds = secondsBetween(serverNow(), until);
    return seconds <= 0 ? "any moment" : `${age(seconds)} left`;
  });
  return <time class="num" dateTime={until} title={absolute(until)}>{text}</time>;
}

/** Progress is a bar in parts, and the words beside it. */
export function Progress({ of }: { of: Counts }) {
  return (
    <span class="prog">
      <svg class="pg" aria-hidden="true">
        <rect width="100%" height="6" rx="2" class="p-rest" />
        {progressParts(of).map((part) => <rect key={part.state} x={`${part.x}%`} width={`${part.width}%`} height="6" rx="2" class={`p-${part.state}`} />)}
      </svg>
      <span class="num">{progressWords(of)}</span>
    </span>
  );
}

/** Revision is a chip. The whole revision is in its title. */
export function Revision({ of, icon, kind = "", spot }: { of: string; icon?: string; kind?: string; spot?: string }) {
  return <span class={`rev ${kind}`} title={of} data-spot={spot}>{icon && <Icon name={icon} />}<span class="cutoff">{shortRevision(of)}</span></span>;
}

/** copyText copies, and confirms that. */
export async function copyText(text: string, what = "Copied"): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "sr";
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) {
      announce("The browser does not let this page copy.");
      return false;
    }
  }
  announce(what);
  return true;
}

/** CopyButton shows a check mark for a moment after copying. */
export function CopyButton({ text, label, quiet }: { text: string; label: string; quiet?: boolean }) {
  const [copied, set] = useState(false);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const copy = async () => {
    if (!(await copyText(text))) return;
    set(true);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => set(false), 1500);
  };
  return <button type="button" class="copy" aria-label={label} title={quiet ? label : text} onClick={copy}><Icon name={copied ? "check" : "copy"} class={copied ? "s-done" : ""} /></button>;
}

/** CommandLine is a command with a copy button. */
export function CommandLine({ text }: { text: string }) {
  return (
    <div class="cmd"><span class="p" aria-hidden="true">$</span><code title={text}>{text}</code><CopyButton text={text} label={`Copy command: ${text}`} /></div>
  );
}

/** RefLink links to the page of an object, if it has one. */
export function RefLink({ to, children }: { to: Ref; children?: ComponentChildren }) {
  const address = pageOf(to);
  const text = children ?? to.name;
  return address ? <a class="link" href={address} title={`${to.kind} ${to.namespace}/${to.name}`}>{text}</a> : <span title={`${to.kind} ${to.namespace}/${to.name}`}>{text}</span>;
}

/** Panel is a box with a head. */
export function Panel({ title, id, count, head, class: classes = "", children }: {
  title?: string; id?: string; count?: string; head?: ComponentChildren; class?: string; children: ComponentChildren;
}) {
  return (
    <section class={`panel ${classes}`} id={id} aria-label={title}>
      {title !== undefined && <header><h2>{title}</h2>{count !== undefined && <span class="faint num">{count}</span>}{head}</header>}
      {children}
    </section>
  );
}

/** Empty says what would be here, and how to get it. */
export function Empty({ icon, title, text, command, children, tone = "faint" }: {
  icon: string; title: string; text?: string; command?: string; children?: ComponentChildren; tone?: string;
}) {
  return (
    <div class="empty"><Icon name={icon} class={`lg ${tone}`} /><h3>{title}</h3>{text && <p>{text}</p>}{command && <CommandLine text={command} />}{children}</div>
  );
}

/** Loading shows nothing for 300 ms, then placeholders of the height of the content. */
export function Loading({ rows = 6 }: { rows?: number }) {
  const [late, set] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => set(true), 300);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <div class={`load${late ? "" : " early"}`} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, i) => <div key={i} class={`sk w${i % 4}`} />)}
    </div>
  );
}

/** Banner is above the verdict when something is wrong with the content of the page. */
export function Banner({ tone, icon, children, action }: { tone: "waiting" | "failed" | "idle"; icon: string; children: ComponentChildren; action?: ComponentChildren }) {
  return <div class={`banner ${tone}`} role={tone === "failed" ? "alert" : "status"}><Icon name={icon} class={`s-${tone}`} /><span class="grow">{children}</span>{action}</div>;
}

/** Segments is a row of choices, one of which is selected. */
export function Segments<T extends string>({ label, value, options, onChange }: {
  label: string; value: T; options: { value: T; text: string; icon?: string; tone?: string; count?: string }[]; onChange: (value: T) => void;
}) {
  return (
    <div class="seg" role="group" aria-label={label}>
      {options.map((each) => (
        <button type="button" key={each.value} aria-pressed={each.value === value} onClick={() => onChange(each.value)}>
          {each.icon && <Icon name={each.icon} class={each.tone ?? ""} />}{each.text}{each.count !== undefined && <span class="num">{each.count}</span>}
        </button>
      ))}
    </div>
  );
}

/** SearchField filters the list of a page; Escape clears it. */
export function SearchField({ field, label, text, onText, class: classes = "" }: {
  field: { current: HTMLInputElement | null }; label: string; text: string; onText: (text: string) => void; class?: string;
}) {
  return (
    <label class={`searchfield ${classes}`}><Icon name="search" class="faint" /><span class="sr">{label}</span>
      <input ref={field} type="search" placeholder="Search" value={text} onInput={(event) => onText(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === "Escape") { onText(""); event.currentTarget.blur(); event.stopPropagation(); } }} />
      <kbd class="hide-s">/</kbd></label>
  );
}

/** LongText shows the first part of a long text, and all of it on demand. */
export function LongText({ text, limit = 400 }: { text: string; limit?: number }) {
  const [all, set] = useState(false);
  if (text.length <= limit || all) return <>{text}</>;
  return <>{text.slice(0, limit)}… <button type="button" class="linkish" onClick={() => set(true)}>show all</button></>;
}

/** Hidden names what the user may not see, each with the missing right. */
export function Hidden({ notes }: { notes: string[] }) {
  if (notes.length === 0) return null;
  return (
    <section class="panel hidden-notes" aria-label="Not shown to you">
      <ul>{notes.map((note) => <li key={note}><Icon name="lock" class="faint" /><span>{note}</span></li>)}</ul>
    </section>
  );
}

/** useMedia reports whether a media query matches. */
export function useMedia(query: string): boolean {
  const [holds, set] = useState(() => window.matchMedia(query).matches);
  useEffect(() => {
    const list = window.matchMedia(query);
    const look = () => set(list.matches);
    look();
    list.addEventListener("change", look);
    return () => list.removeEventListener("change", look);
  }, [query]);
  return holds;
}

/** useBook requests one answer as long as it is wanted, and again when its stamp changes or the user requests it. */
export function useBook<T>(ask: () => Promise<T>, stamp: string, wanted = true): [Asked<T> | undefined, () => void] {
  const held = useRef(ask);
  held.current = ask;
  const book = useMemo(() => new Book<T>(() => held.current()), []);
  const asked = useStore(book.pages, (pages) => pages.get(""));
  useLayoutEffect(() => {
    if (wanted) book.want("", stamp);
  }, [stamp, wanted]);
  return [asked, () => book.again("")];
}

/** AgainButton repeats the request, and shows the age of the answer. */
export function AgainButton({ busy, at, label, onClick }: { busy: boolean; at: number | undefined; label: string; onClick: () => void }) {
  return (
    <span class="again">{at !== undefined && <Since at={at} />}
      <button type="button" class="btn quiet small icon" aria-label={label} title={label} aria-busy={busy} onClick={onClick}><Icon name="run" /></button></span>
  );
}

function Since({ at }: { at: number }) {
  return <small class="faint num">{useTicking(() => age((Date.now() - at) / 1000))} ago</small>;
}

/** RefusedBox shows the server's message, and the command that shows the missing right. */
export function RefusedBox({ refused, what }: { refused: Refusal; what: string }) {
  return (
    <div class="refused" role="alert"><p><Icon name={refused.status === 403 ? "lock" : "failed"} class={refused.status === 403 ? "s-waiting" : "s-failed"} /><span class="any"><b>{what}</b> {refused.message}</span></p>
      {refused.command && <CommandLine text={refused.command} />}</div>
  );
}
