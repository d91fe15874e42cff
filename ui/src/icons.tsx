// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// All icons are on a grid of 16, with a stroke of 1.5, and are in the page once; <Icon> refers to them.
import type { ComponentChildren } from "preact";

const ring = <circle cx="8" cy="8" r="6.25" class="ln" />;
const octagon = <path d="M5.4 1.5h5.2l3.9 3.9v5.2l-3.9 3.9H5.4l-3.9-3.9V5.400z" fill="currentColor" />;
const line = (d: string) => <path d={d} class="ln" />;
const pie = (d: string) => <>{ring}<path d={d} fill="currentColor" /></>;

const symbols: Record<string, ComponentChildren> = {
  done: <>{ring}{line("M5.3 8.2l1.9 1.9 3.600-4")}</>,
  failed: <>{octagon}<path d="M5.8 5.8l4.4 4.400M10.2 5.8l-4.400 4.400" class="cut" /></>,
  deletefailed: <>{octagon}<path d="M5.2 8h5.600" class="cut" /></>,
  you: <>
    <path d="M8 .9 15.1 8 8 15.1.9 8z" fill="currentColor" stroke="currentColor" stroke-linejoin="round" />
    <path d="M6.2 6.3a1.8 1.8 0 1 1 2.6 1.600c-.5.3-.8.6-.8 1.100" class="cut" /><circle cx="8" cy="11" r=".95" class="cutfill" />
  </>,
  waiting: <>
    {line("M4 1.750h8M4 14.250h8M5 1.750v2.600c0 1.600 3 2.600 3 3.650 0 1.050-3 2.050-3 3.650v2.600M11 1.750v2.600c0 1.600-3 2.600-3 3.650 0 1.050 3 2.050 3 3.650v2.600")}
    <path d="M6.600 13.200h2.800L8 11.200z" fill="currentColor" />
  </>,
  init: pie("M8 8V4.400A3.600 3.600 0 0 1 10.460 5.380z"),
  created: pie("M8 8V4.400A3.600 3.600 0 0 1 11.420 9.110z"),
  progressing: pie("M8 8V4.400A3.600 3.600 0 0 1 8 11.600z"),
  completing: pie("M8 8V4.400A3.600 3.600 0 1 1 4.580 6.890z"),
  pending: <circle cx="8" cy="8" r="6.250" class="ln" stroke-dasharray="2.200 2.700" />,
  deleting: <>{ring}{line("M5.200 8h5.600")}</>,
  held: <>{ring}{line("M6.400 5.800v4.400M9.600 5.800v4.400")}</>,
  rejected: <>{ring}{line("M5.900 5.900l4.200 4.200M10.100 5.900l-4.200 4.200")}</>,
  unknown: line("M4.600 12.500h6.600a2.900 2.900 0 0 0 .5-5.700A3.900 3.900 0 0 0 4.300 7a2.800 2.800 0 0 0 .3 5.500zM2 2l12 12"),
  overview: line("M2 2.500h5v4H2zM9 2.500h5v7H9zM2 9h5v4.500H2zM9 12h5v1.500H9z"),
  tree: line("M8 14V2M8 5H3.200M8 5h4.800M8 9.500H3.200M8 9.500h4.800M3.200 5V3.400M12.800 5V3.400M3.200 9.500V8M12.800 9.500V8"),
  pipe: <><circle cx="3" cy="8" r="1.750" class="ln" /><circle cx="13" cy="8" r="1.750" class="ln" />{line("M5 8h5M8 5.600 10.400 8 8 10.400")}</>,
  target: line("M2 3h12v4H2zM2 9h12v4H2zM4.500 5h.01M4.500 11h.01"),
  blueprint: line("M2.500 2.500h11v11h-11zM2.500 6.500h11M6.500 6.500v7"),
  key: <><circle cx="5" cy="11" r="2.750" class="ln" />{line("m7 9 6-6M11 5l2 2M9.500 6.500 11 8")}</>,
  search: <><circle cx="7" cy="7" r="4.500" class="ln" />{line("m10.500 10.500 3.500 3.500")}</>,
  copy: line("M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3"),
  check: line("M3.500 8.500l3 3 6-7"),
  chev: line("m6 4 4 4-4 4"),
  chevd: line("m4 6 4 4 4-4"),
  more: <g fill="currentColor"><circle cx="3.500" cy="8" r="1.300" /><circle cx="8" cy="8" r="1.300" /><circle cx="12.500" cy="8" r="1.300" /></g>,
  x: line("m4 4 8 8M12 4l-8 8"),
  in: line("M9.500 2.500h4v11h-4M2 8h7.500M6.500 5l3 3-3 3"),
  out: line("M6.500 2.500h-4v11h4M6 8h8M11 5l3 3-3 3"),
  lock: line("M3.500 7h9v6.500h-9zM5.500 7V5a2.500 2.500 0 0 1 5 0v2"),
  run: line("M13.500 8a5.500 5.500 0 1 1-1.700-4M12 1.500v2.700H9.300"),
  stop: line("M4 4h8v8H4z"),
  box: line("m8 1.800 5.500 3v6.400l-5.500 3-5.500-3V4.800zM2.500 4.800 8 8l5.500-3.200M8 8v6"),
  clock: <>{ring}{line("M8 4.500V8l2.300 1.600")}</>,
  pr: <>
    <circle cx="4" cy="3.500" r="1.600" class="ln" /><circle cx="4" cy="12.500" r="1.600" class="ln" /><circle cx="12" cy="12.500" r="1.600" class="ln" />
    {line("M4 5.100v5.800M12 10.900V6.200a2 2 0 0 0-2-2H7.500M9.200 2.200l-2 2 2 2")}
  </>,
  soak: line("M8 1.800c2.400 3 4.200 5 4.200 7.600a4.200 4.200 0 0 1-8.400 0C3.800 6.800 5.600 4.800 8 1.800z"),
  window: line("M2.500 3.500h11v10h-11zM2.500 6.500h11M5.500 1.800v3M10.500 1.800v3"),
  edit: line("M2.500 13.500h3l8-8-3-3-8 8z"),
  plus: line("M8 3v10M3 8h10"),
  minus: line("M3 8h10"),
  fit: line("M2.500 6V2.500H6M10 2.500h3.500V6M13.500 10v3.500H10M6 13.500H2.500V10"),
  warn: <><path d="M8 2 14.500 13.500h-13z" class="ln" />{line("M8 6.500v3M8 11.500v.01")}</>,
  pin: line("M6 2h4l-.5 4.500L12 9H4l2.500-2.500zM8 9v5"),
  trash: line("M3 4.500h10M6.500 4.500v-2h3v2M4.500 4.500l.5 9h6l.5-9"),
  log: line("M3 2.500h10v11H3zM5.500 5.500h5M5.500 8h5M5.500 10.500h3"),
  diff: line("M4.500 2v6M1.500 5h6M9 11h5.500M13.500 2 3 14"),
  compact: line("M2.500 3h11M2.500 6.300h11M2.500 9.700h11M2.500 13h11"),
  bolt: line("M9 1.500 3.500 9H8l-1 5.500L12.500 7H8z"),
};

/** Sprite contains the icons. It is drawn once. */
export function Sprite() {
  return (
    <svg class="sprite" aria-hidden="true">
      {Object.entries(symbols).map(([name, what]) => <symbol key={name} id={`i-${name}`} viewBox="0 0 16 16">{what}</symbol>)}
    </svg>
  );
}

/** Icon is decoration: words beside it say the same. */
export function Icon({ name, class: classes = "" }: { name: string; class?: string }) {
  return <svg class={`i ${classes}`} aria-hidden="true" focusable="false"><use href={`#i-${name}`} /></svg>;
}

/** Mark is the logo of the project. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d="M12 22V3M12 18H7.500a4 4 0 0 1-4-4v-1M12 18h4.500a4 4 0 0 0 4-4v-1M12 10.500H9A3.500 3.500 0 0 1 5.500 7V5.500M12 10.500h3A3.500 3.500 0 0 0 18.500 7V5.500" />
    </svg>
  );
}
