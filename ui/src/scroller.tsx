// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A box that scrolls sideways if its content is too wide: its edges fade where there is more, and arrow keys scroll it while it has the
// focus.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Edges { start: boolean; end: boolean }

/** Scroller starts at the first element with data-needy, which needs attention. */
export function Scroller({ label, class: classes, children }: { label: string; class: string; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const touched = useRef(false);
  const [edges, setEdges] = useState<Edges>({ start: false, end: false });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => {
      const room = element.scrollWidth - element.clientWidth;
      if (room > 1 && !touched.current) {
        touched.current = true;
        const needy = element.querySelector<HTMLElement>("[data-needy]");
        if (needy) element.scrollLeft = needy.getBoundingClientRect().left - element.getBoundingClientRect().left + element.scrollLeft - element.clientWidth / 3;
      }
      const now = { start: room > 1 && element.scrollLeft > 1, end: room > 1 && element.scrollLeft < room - 1 };
      setEdges((before) => (before.start === now.start && before.end === now.end ? before : now));
    };
    measure();
    element.addEventListener("scroll", measure, { passive: true });
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    for (const child of element.children) watch.observe(child);
    return () => {
      element.removeEventListener("scroll", measure);
      watch.disconnect();
    };
  });
  const wide = edges.start || edges.end;
  const keys = (event: KeyboardEvent) => {
    const element = box.current;
    if (!element || event.target !== element || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowRight: 160, ArrowLeft: -160, PageDown: element.clientWidth, PageUp: -element.clientWidth, Home: -element.scrollWidth, End: element.scrollWidth }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    element.scrollLeft += by;
  };
  return (
    <div ref={box} class={`scroller ${classes}${edges.start ? " more-start" : ""}${edges.end ? " more-end" : ""}`} role="group" aria-label={label}
      tabIndex={wide ? 0 : undefined} onKeyDown={keys}>{children}</div>
  );
}
