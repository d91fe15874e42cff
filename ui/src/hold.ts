// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Whether a list is being read: the pointer or focus is in it, or it is scrolled. Its rows then stay in place.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** useReading reports whether the content of a box is being read; the box is null until it is drawn. */
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
    // A lifted finger leaves at once, though the user reads on; it counts until another part of the page is touched.
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

/** useBasis returns the basis of a list: the latest, or what it was when reading started. The function switches to the latest. */
export function useBasis<T>(latest: T, reading: boolean): [T, () => void] {
  const basis = useRef(latest);
  const [, draw] = useState(0);
  if (!reading) basis.current = latest;
  return [basis.current, () => { basis.current = latest; draw((n) => n + 1); }];
}
