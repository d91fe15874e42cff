// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The user, and every call of the pages that requires a right, as a basis for granting rights.
import { useEffect, useState } from "preact/hooks";
import { changes, checkOf, known, rightsOf } from "../access-model";
import { api } from "../api";
import type { Call } from "../documents";
import { Verdict } from "../page";
import { CopyButton, Panel } from "../parts";
import { go } from "../router";
import { dot, me, theme, showTheme, singleKeys, type Theme } from "../state";
import { useStore } from "../store";

export function AccessView() {
  const who = useStore(me);
  const chosen = useStore(theme);
  const keysOn = useStore(singleKeys);
  // A server that does not list its calls has the known ones.
  const [calls, setCalls] = useState<Call[]>([]);
  useEffect(() => {
    api.access().then(setCalls, () => setCalls(known));
  }, []);
  useEffect(() => {
    document.title = "Access · Espalier";
    dot.set({ phase: "live" });
  }, []);
  return (
    <>
      <Verdict text={who ? `You are ${who.user || "not named"}` : "Not logged in"}>
        {who && <p>{who.mode === "local" ? "The pages act with the rights of the user who started them." : "The pages act with your rights, and with no others."}</p>}
      </Verdict>
      {who && (
        <Panel title="Session">
          <dl class="factlist">
            <div><dt>User</dt><dd class="any">{who.user}</dd></div>
            <div><dt>Groups</dt><dd class="any">{who.groups.length > 0 ? who.groups.join(", ") : "none"}</dd></div>
            <div><dt>Cluster</dt><dd class="any">{who.cluster || "not named"}</dd></div>
            <div><dt>Version</dt><dd class="any mono">{who.version}</dd></div>
            <div><dt>Theme</dt><dd><select aria-label="Theme" value={chosen} onChange={(event) => { theme.set(event.currentTarget.value as Theme); showTheme(); }}><option value="system">as the system</option><option value="light">light</option><option value="dark">dark</option></select></dd></div>
            <div><dt>Keys</dt><dd><label class="check"><input type="checkbox" checked={keysOn} onChange={(event) => singleKeys.set(event.currentTarget.checked)} />Single keys are on</label></dd></div>
          </dl>
          {who.mode !== "local" && <footer><button type="button" class="btn" onClick={() => void api.logout().finally(() => { me.set(undefined); go("/login"); })}>Log out</button></footer>}
        </Panel>
      )}
      <Calls title="Calls that change something" calls={calls.filter((call) => !call.server && changes(call))} />
      <Calls title="Calls that read" calls={calls.filter((call) => !call.server && !changes(call))} />
      <Calls title="What the server reads with its own rights" calls={calls.filter((call) => call.server)} note="It does so once for everybody. You see of it what you may list yourself." own />
    </>
  );
}

function Calls({ title, calls, note, own }: { title: string; calls: Call[]; note?: string; own?: boolean }) {
  if (calls.length === 0) return null;
  return (
    <Panel title={title} count={String(calls.length)}>
      <table class="tbl stack calls">
        <thead><tr><th scope="col">What for</th><th scope="col">{own ? "Of the API server" : "Call"}</th><th scope="col">{own ? "Rights of the server" : "Rights"}</th>{!own && <th scope="col">Check it</th>}</tr></thead>
        <tbody>{calls.map((call, i) => {
          const rights = rightsOf(call);
          return (
            <tr key={i}><th scope="row" class="any">{call.what}</th><td class="mono any">{call.method} {call.path}</td>
              <td class="any">{rights.length === 0 ? <span class="faint">none</span> : rights.map((right) => <div key={right}>{right}</div>)}</td>
              {!own && <td class="wide">{rights.flatMap((right) => checkOf(right) ?? []).map((command) => <span key={command} class="nx"><code class="cutoff">{command}</code><CopyButton text={command} label={`Copy command: ${command}`} /></span>)}</td>}</tr>
          );
        })}</tbody>
      </table>
      {note && <footer>{note}</footer>}
    </Panel>
  );
}
