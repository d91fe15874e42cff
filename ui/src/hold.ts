// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Who reads a list: whose pointer or focus is in it, or who has scrolled into it. Its rows then stay where they are.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** useReading says whether somebody reads what is in a box, which is null until it is drawn. */
export function useReading(element: HTMLElement | null): boolean {
  const [reading, set] = useState(false);
  useLayoutEffect(() => {
    if (!element) return;
    const is = { over: false, inside: element.contains(document.activeElement), below: false };
    const tell = () => set(is.over || is.inside || is.below);
    const scrolled = () => {
      is.below = element.getBoundingClientRect().top < 0;
      tell();
    };
    // A finger that is lifted leaves at once, though its owner reads on; it counts until another part of the page is touched.
    const enter = () => { is.over = true; tell(); };
    const leave = (event: PointerEvent) => { if (event.pointerType !== "touch") { is.over = false; tell(); } };
    const elsewhere = (event: PointerEvent) => { if (!element.contains(event.target as Element)) { is.over = false; tell(); } };
    const focus = (event: FocusEvent) => { is.inside = element.contains(event.target as Element); tell(); };
    const blur = (event: FocusEvent) => { is.inside = element.contains(event.relatedTarget as Element | null); tell(); };
    scrolled();
    element.addEventListener("pointerenter", enter);
    element.addEventListener("pointerleave", leave);
    document.addEventListener("pointerdown", elsewhere);
    document.addEventListener("focusin", focus);
    document.addEventListener("focusout", blur);
    window.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      element.removeEventListener("pointerenter", enter);
      element.removeEventListener("pointerleave", leave);
      document.removeEventListener("pointerdown", elsewhere);
      document.removeEventListener("focusin", focus);
      document.removeEventListener("focusout", blur);
      window.removeEventListener("scroll", scrolled);
    };
  }, [element]);
  return reading;
}

/** useBasis is what a list is made of: the latest, or what it was when somebody began to read. The function takes the latest over. */
export function useBasis<T>(latest: T, reading: boolean): [T, () => void] {
  const basis = useRef(latest);
  const [, draw] = useState(0);
  if (!reading) basis.current = latest;
  return [basis.current, () => { basis.current = latest; draw((n) => n + 1); }];
}
