// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Search and commands in one field, and the list of keys.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "./api";
import { Dialog } from "./dialog";
import { Icon } from "./icons";
import { keyTable, moveIn } from "./keys";
import { find, type Entry } from "./palette-model";
import { key, pageOf } from "./refs";
import { go } from "./router";
import { me, overview, pageActions, showTheme, singleKeys, theme, type Theme } from "./state";
import { useStore } from "./store";
import { colour, shape } from "./tone";

interface Item extends Entry { run: () => void }

function useItems(onHelp: () => void): Item[] {
  const all = useStore(overview);
  const actions = useStore(pageActions);
  const keysOn = useStore(singleKeys);
  return useMemo(() => {
    const page = (text: string, address: string, icon: string): Item => ({ id: address, text, detail: "page", icon, tone: "faint", run: () => go(address) });
    const setTheme = (to: Theme): Item => ({
      id: `theme-${to}`, text: `Theme: ${to}`, detail: "setting", icon: "edit", tone: "faint", run: () => { theme.set(to); showTheme(); },
    });
    const items: Item[] = [
      ...actions.map(({ action, run }): Item => ({ id: `do-${action.id}`, text: action.label, detail: action.denied || action.unavailable || action.command, icon: action.denied ? "lock" : "run", tone: "faint", run })),
      page("Overview", "/", "overview"), page("Installations", "/installations", "tree"), page("Pipelines", "/pipelines", "pipe"),
      page("Targets", "/targets", "target"), page("Blueprints", "/blueprints", "blueprint"), page("Access", "/access", "key"),
    ];
    for (const row of [...(all?.pipelines ?? []), ...(all?.installations ?? [])]) {
      items.push({
        id: key(row.ref), text: row.ref.name, detail: `${row.ref.kind} in ${row.ref.namespace}, ${row.status.word}`, icon: shape(row.status),
        tone: `s-${colour(row.status.tone)}`, run: () => go(pageOf(row.ref) ?? "/"),
      });
    }
    items.push(
      setTheme("light"), setTheme("dark"), setTheme("system"),
      { id: "keys", text: "List of keys", detail: "help", icon: "search", tone: "faint", run: onHelp },
      { id: "single", text: keysOn ? "Switch single keys off" : "Switch single keys on", detail: "setting", icon: "edit", tone: "faint", run: () => singleKeys.set(!keysOn) },
      { id: "logout", text: "Log out", detail: "session", icon: "out", tone: "faint", run: () => void api.logout().finally(() => { me.set(undefined); go("/login"); }) },
    );
    return items;
  }, [all, actions, keysOn]);
}

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const items = useItems(onHelp);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const found = useMemo(() => find(items, text), [items, text]);
  useEffect(() => {
    if (!overview.value) void api.overview().then((doc) => overview.set(doc), () => undefined);
  }, []);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at, found]);
  const choose = (item: Item | undefined) => {
    if (!item) return;
    onClose();
    window.setTimeout(item.run, 0);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      choose(found[at]);
      return;
    }
    if (event.key === "Home" || event.key === "End") return;
    const to = moveIn(event.key, at, found.length, 8);
    if (to === undefined) return;
    event.preventDefault();
    setAt(to);
  };
  return (
    <Dialog label="Search or run a command" class="palette" onClose={onClose}>
      <div class="palette-field"><Icon name="search" class="faint" />
        <input type="text" role="combobox" aria-label="Search or run" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" autofocus autocomplete="off" spellcheck={false}
          aria-activedescendant={found[at] ? `palette-${at}` : undefined} placeholder="Search or run…" value={text} onKeyDown={keys}
          onInput={(event) => { setText(event.currentTarget.value); setAt(0); }} />
      </div>
      <ul id="palette-list" role="listbox" aria-label="Found" ref={list}>
        {found.map((item, i) => (
          <li key={item.id} id={`palette-${i}`} role="option" aria-selected={i === at} onClick={() => choose(item)} onPointerMove={() => i !== at && setAt(i)}>
            <Icon name={item.icon} class={item.tone} /><span class="cutoff">{item.text}</span><small class="cutoff">{item.detail}</small>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="none">Nothing matches “{text}”.</p>}
    </Dialog>
  );
}

export function KeyList({ onClose }: { onClose: () => void }) {
  const on = useStore(singleKeys);
  return (
    <Dialog label="Keys" class="keylist" onClose={onClose}>
      <h2>Keys</h2>
      <dl>{keyTable.map(([press, does]) => <div key={press}><dt><kbd>{press}</kbd></dt><dd>{does}</dd></div>)}</dl>
      <label class="check"><input type="checkbox" checked={on} onChange={(event) => singleKeys.set(event.currentTarget.checked)} />Single keys are on</label>
      <div class="btns end"><button type="button" class="btn" onClick={onClose}>Close</button></div>
    </Dialog>
  );
}
