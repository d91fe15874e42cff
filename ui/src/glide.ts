// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A revision in a new place glides there from its old place, unless the user prefers reduced motion.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Environment } from "./documents";
import { moves, spots, type Spot } from "./glide-model";

const still = window.matchMedia("(prefers-reduced-motion: reduce)");

interface Corner { x: number; y: number }

/** cornersIn measures the places in a box, relative to its corner, so that scrolling makes no difference. */
function cornersIn(box: HTMLElement): Map<string, { element: HTMLElement; at: Corner }> {
  const frame = box.getBoundingClientRect();
  const found = new Map<string, { element: HTMLElement; at: Corner }>();
  for (const element of box.querySelectorAll<HTMLElement>("[data-spot]")) {
    const rect = element.getBoundingClientRect();
    found.set(element.dataset.spot ?? "", { element, at: { x: rect.left - frame.left + box.scrollLeft, y: rect.top - frame.top + box.scrollTop } });
  }
  return found;
}

/** useGlide animates the elements with data-spot in a box. */
export function useGlide(find: () => HTMLElement | null, environments: Environment[]): void {
  const before = useRef<{ spots: Spot[]; corners: Map<string, Corner> } | undefined>(undefined);
  useLayoutEffect(() => {
    const box = find();
    if (!box) return;
    const now = spots(environments);
    const there = cornersIn(box);
    const last = before.current;
    before.current = { spots: now, corners: new Map([...there].map(([id, each]) => [id, each.at])) };
    if (!last || still.matches) return;
    const style = getComputedStyle(box);
    for (const move of moves(last.spots, now, environments.map((env) => env.name))) {
      const from = there.get(move.from)?.at ?? last.corners.get(move.from);
      const to = there.get(move.to);
      if (!from || !to) continue;
      to.element.animate([{ transform: `translate(${from.x - to.at.x}px, ${from.y - to.at.y}px)`, zIndex: 3 }, { transform: "none", zIndex: 3 }],
        { duration: 2 * (parseFloat(style.getPropertyValue("--move")) || 220), easing: style.getPropertyValue("--ease").trim() || "ease-out" });
    }
  }, [environments]);
}
