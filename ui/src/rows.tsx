// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A list of rows of equal height of which only those on the screen are drawn, so that ten thousand cost no more than fifty. The page
// scrolls, not the list. One row has the focus; arrow keys move it.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { moveIn } from "./keys";
import { slice } from "./virtual-model";

export interface RowsProps<T> {
  items: T[];
  id: (item: T) => string;
  height: number;
  label: string;
  columns: string;
  head?: ComponentChildren;
  /** attributes are added to the element of a row, which already has the role row. */
  attributes: (item: T) => Record<string, string | number | boolean | undefined>;
  draw: (item: T) => ComponentChildren;
  onKey?: (event: KeyboardEvent, item: T) => void;
  onOpen?: (item: T, event: Event) => void;
  /** stamp changes with an item: a row whose stamp changes gets a tint that fades. */
  stamp?: (item: T) => unknown;
}

export function Rows<T>(props: RowsProps<T>) {
  const { items, height, id } = props;
  const body = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ from: 0, to: 40 });
  const [active, setActive] = useState<string>();
  const wantsFocus = useRef(false);
  useLayoutEffect(() => {
    const measure = () => {
      const box = body.current;
      if (!box) return;
      const now = slice(items.length, height, box.getBoundingClientRect().top, window.innerHeight);
      setRange((before) => (before.from === now.from && before.to === now.to ? before : now));
    };
    measure();
    window.addEventListener("scroll", measure, { passive: true });
    window.addEventListener("resize", measure);
    const watch = new ResizeObserver(measure);
    watch.observe(document.body);
    return () => {
      window.removeEventListener("scroll", measure);
      window.removeEventListener("resize", measure);
      watch.disconnect();
    };
  }, [items.length, height]);
  const found = active === undefined ? -1 : items.findIndex((item) => id(item) === active);
  const at = found < 0 ? Math.min(range.from < 8 ? 0 : range.from + 8, items.length - 1) : found;
  // Not useEffect: one that is still pending from before the key press would handle the request, and focus the old row.
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    const row = body.current?.querySelector<HTMLElement>(`[aria-rowindex="${at + 2}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).getAttribute("role") !== "row") return;
    const to = moveIn(event.key, at, items.length, Math.max(1, Math.floor(window.innerHeight / height) - 4));
    const item = items[to ?? at];
    if (!item) return;
    if (to === undefined) {
      if (event.key === "Enter") props.onOpen?.(item, event);
      props.onKey?.(event, item);
      return;
    }
    event.preventDefault();
    wantsFocus.current = true;
    setActive(id(item));
  };
  const drawn: number[] = [];
  for (let i = range.from; i < Math.min(range.to, items.length); i++) drawn.push(i);
  if (at >= 0 && at < items.length && (at < range.from || at >= range.to)) drawn.push(at);
  return (
    <div class={`rows ${props.columns}`} role="treegrid" aria-label={props.label} aria-rowcount={items.length + 1} onKeyDown={onKeyDown}>
      {props.head && <div role="rowgroup" class="rows-head"><div role="row" aria-rowindex={1} class="row head">{props.head}</div></div>}
      <div role="rowgroup" class="rows-body" ref={body} style={{ height: `${items.length * height}px` }}>
        {drawn.map((i) => {
          const item = items[i] as T;
          return <OneRow key={id(item)} props={props} item={item} index={i} focusable={i === at} onFocus={() => setActive(id(item))} />;
        })}
      </div>
    </div>
  );
}

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

function OneRow<T>({ props, item, index, focusable, onFocus }: { props: RowsProps<T>; item: T; index: number; focusable: boolean; onFocus: () => void }) {
  const row = useRef<HTMLDivElement>(null);
  const stamp = props.stamp?.(item);
  const before = useRef(stamp);
  useEffect(() => {
    if (before.current === stamp) return;
    before.current = stamp;
    if (still.matches || !row.current) return;
    const tint = getComputedStyle(row.current).getPropertyValue("--running-bg");
    row.current.animate([{ backgroundColor: tint }, { backgroundColor: "transparent" }], { duration: 1200, easing: "ease-out" });
  }, [stamp]);
  return (
    <div ref={row} role="row" aria-rowindex={index + 2} tabIndex={focusable ? 0 : -1} onFocus={onFocus}
      style={{ transform: `translateY(${index * props.height}px)`, height: `${props.height}px` }}
      onClick={(event) => (event.target as Element).closest("a,button") || props.onOpen?.(item, event)} {...props.attributes(item)}>
      {props.draw(item)}
    </div>
  );
}

/** Cell is a cell of a row. */
export function Cell({ class: classes, children, title }: { class: string; children?: ComponentChildren; title?: string }) {
  return <div role="gridcell" class={`cell ${classes}`} title={title}>{children}</div>;
}

/** HeadCell is the header of a column. */
export function HeadCell({ class: classes, children }: { class: string; children?: ComponentChildren }) {
  return <div role="columnheader" class={`cell ${classes}`}>{children}</div>;
}
