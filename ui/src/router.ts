// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Addresses of pages. The state of a page (filter, selection, tab) is in the query, so that a link shows the same.
import { useCallback } from "preact/hooks";
export { parse, type Route } from "./route-model";
import { Store, useStore } from "./store";

export const place = new Store({ path: "/", query: "" });

/** look reads the address of the window. */
export function look(): void {
  const { pathname, search } = window.location;
  if (place.value.path !== pathname || place.value.query !== search) place.set({ path: pathname, query: search });
}

/** go opens a page. */
export function go(address: string): void {
  window.history.pushState(null, "", address);
  look();
  window.scrollTo(0, 0);
}

/** follow handles a click on a link to these pages with go, unless it is meant for another tab. */
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.("a[href]") as HTMLAnchorElement | null;
  if (!link || link.target || link.hasAttribute("download") || link.origin !== window.location.origin) return;
  if (/^\/(api|auth)\//.test(link.pathname)) return;
  if (link.hash && link.pathname === window.location.pathname && link.search === window.location.search) return;
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
}

/** setQuery changes one part of the query without a new page. */
export function setQuery(name: string, value: string): void {
  const query = new URLSearchParams(window.location.search);
  if (value === "") query.delete(name);
  else query.set(name, value);
  const text = query.toString();
  window.history.replaceState(null, "", window.location.pathname + (text ? `?${text}` : "") + window.location.hash);
  look();
}

/** useQuery returns a part of the query, and a function that changes it. The fallback is not written. */
export function useQuery(name: string, fallback = ""): [string, (value: string) => void] {
  const value = useStore(place, (at) => new URLSearchParams(at.query).get(name) ?? fallback);
  const set = useCallback((to: string) => setQuery(name, to === fallback ? "" : to), [name, fallback]);
  return [value, set];
}
