// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The frame of all pages: side bar, rail or tab bar by width, top bar, live dot.
import type { ComponentChildren } from "preact";
import { clock, number } from "./format";
import { Icon, Mark } from "./icons";
import { StatusIcon } from "./parts";
import { pageOf, key } from "./refs";
import type { Route } from "./router";
import { dot, me, overview, pins } from "./state";
import { useStore } from "./store";

interface Entry { page: string; address: string; icon: string; text: string; count?: number; hot?: boolean }

function useEntries(): Entry[] {
  const all = useStore(overview);
  return [
    { page: "overview", address: "/", icon: "overview", text: "Overview", count: all?.needs.length, hot: true },
    { page: "installation", address: "/installations", icon: "tree", text: "Installations", count: all?.installations.length },
    { page: "pipeline", address: "/pipelines", icon: "pipe", text: "Pipelines", count: all?.pipelines.length },
    { page: "target", address: "/targets", icon: "target", text: "Targets" },
    { page: "blueprint", address: "/blueprints", icon: "blueprint", text: "Blueprints" },
  ];
}

function isHere(entry: Entry, route: Route): boolean {
  return route.page === entry.page || route.page === `${entry.page}s`;
}

function Count({ entry }: { entry: Entry }) {
  if (!entry.count) return null;
  return <span class={`n${entry.hot ? " hot" : ""}`}>{entry.count > 9999 ? `${Math.floor(entry.count / 1000)}k` : number(entry.count)}{entry.hot && <span class="sr"> need you</span>}</span>;
}

/** LiveDot shows whether the content of the page is live. */
export function LiveDot() {
  const at = useStore(dot);
  const word = at.phase === "live" ? "Live" : at.phase === "lost" ? `Not live since ${clock(at.since ?? Date.now())}` : at.phase === "paused" ? "Paused" : "Catching up";
  return <span class={`live ${at.phase}`} role="status">{word}</span>;
}

function Side({ route }: { route: Route }) {
  const entries = useEntries();
  const pinned = useStore(pins);
  const who = useStore(me);
  return (
    <aside class="side" aria-label="Side bar">
      <a class="brand" href="/" aria-label="Espalier, overview"><Mark /><span class="lbl">Espalier</span></a>
      <nav class="nav" aria-label="Main">
        {entries.map((entry) => (
          <a key={entry.page} href={entry.address} aria-current={isHere(entry, route) ? "page" : undefined} title={entry.text}>
            <Icon name={entry.icon} /><span class="lbl">{entry.text}</span><Count entry={entry} />
          </a>
        ))}
      </nav>
      {pinned.length > 0 && (
        <nav class="nav fav" aria-label="Pinned"><h3>Pinned</h3>
          {pinned.map((pin) => (
            <a key={key(pin.ref)} href={pageOf(pin.ref)} title={`${pin.ref.kind} ${pin.ref.namespace}/${pin.ref.name}: ${pin.word}`}>
              <StatusIcon status={pin} /><span class="lbl cutoff">{pin.ref.name}{pin.ref.kind === "Pipeline" ? " pipeline" : ""}<span class="sr">, {pin.word}</span></span>
            </a>
          ))}
        </nav>
      )}
      <div class="foot">
        <LiveDot />
        {who && <a href="/access" class="who" title={`${who.user} on ${who.cluster || "this cluster"}`}><span class="cutoff">{who.user || "you"}</span>{who.cluster && <span class="faint cutoff">{who.cluster}</span>}</a>}
      </div>
    </aside>
  );
}

function TabBar({ route }: { route: Route }) {
  return (
    <nav class="tabbar" aria-label="Main, below">
      {useEntries().slice(0, 4).map((entry) => (
        <a key={entry.page} href={entry.address} aria-current={isHere(entry, route) ? "page" : undefined}><Icon name={entry.icon} />{entry.text}{entry.hot && <Count entry={entry} />}</a>
      ))}
    </nav>
  );
}

function crumbs(route: Route): { text: string; address?: string }[] {
  switch (route.page) {
    case "overview": return [{ text: "Overview" }];
    case "installation": return [{ text: "Installations", address: "/installations" }, { text: route.namespace, address: `/installations?group=namespace&q=${encodeURIComponent(route.namespace)}` }, { text: route.name }];
    case "pipeline": return [{ text: "Pipelines", address: "/pipelines" }, { text: route.namespace }, { text: route.name }];
    case "blueprint": return [{ text: "Blueprints", address: "/blueprints" }, { text: route.namespace }, { text: route.name }];
    case "nowhere": return [{ text: "Nowhere" }];
    default: return [{ text: route.page.charAt(0).toUpperCase() + route.page.slice(1) }];
  }
}

const mac = /Mac|iPhone|iPad/.test(navigator.userAgent);

function TopBar({ route, onFind }: { route: Route; onFind: () => void }) {
  const path = crumbs(route);
  return (
    <div class="top">
      <nav class="crumbs" aria-label="Path">
        {path.map((part, i) => {
          const last = i === path.length - 1;
          return (
            <span key={i} class={last ? "crumb" : "crumb hide-s"}>
              {last ? <b class="cutoff" aria-current="page">{part.text}</b> : part.address ? <a class="cutoff" href={part.address}>{part.text}</a> : <span class="cutoff">{part.text}</span>}
              {!last && <span class="sep" aria-hidden="true">/</span>}
            </span>
          );
        })}
      </nav>
      <LiveDotSmall />
      <button type="button" class="find" onClick={onFind}><Icon name="search" /><span>Search or run…</span><kbd aria-hidden="true">{mac ? "⌘K" : "Ctrl K"}</kbd></button>
    </div>
  );
}

/** LiveDotSmall is in the top bar where there is no room for the side bar's. */
function LiveDotSmall() {
  const at = useStore(dot);
  return <span class={`live small ${at.phase}`} aria-hidden="true" title={at.phase === "live" ? "Live" : "Not live"} />;
}

export function Shell({ route, onFind, children }: { route: Route; onFind: () => void; children: ComponentChildren }) {
  if (route.page === "login") return <main id="main" class="alone" tabIndex={-1}>{children}</main>;
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <div class="shell">
        <Side route={route} />
        <div class="right">
          <TopBar route={route} onFind={onFind} />
          <main id="main" tabIndex={-1}>{children}</main>
        </div>
      </div>
      <TabBar route={route} />
    </>
  );
}
