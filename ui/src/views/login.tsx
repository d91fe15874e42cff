// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useState } from "preact/hooks";
import { api, Refusal } from "../api";
import { Icon, Mark } from "../icons";
import { CommandLine } from "../parts";
import { nextPage } from "../route-model";
import { go, useQuery } from "../router";
import { me } from "../state";

export function LoginView() {
  const [next] = useQuery("next", "/");
  const [token, setToken] = useState("");
  const [ways, setWays] = useState<string[]>(["token"]);
  const [asked, setAsked] = useState("");
  const [organisation, setOrganisation] = useState("");
  const [refused, setRefused] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = "Log in · Espalier";
    api.me().then((who) => { me.set(who); go(nextPage(next)); }, (error) => {
      if (!(error instanceof Refusal)) return;
      setAsked(error.message);
      if (error.loginWith) setWays(error.loginWith);
      setOrganisation(error.oidcName);
    });
  }, []);
  const login = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setRefused("");
    try {
      await api.login(token.trim());
      me.set(await api.me());
      go(nextPage(next));
    } catch (error) {
      setRefused(error instanceof Refusal ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <div class="login panel">
      <div class="brand"><Mark /><span>Espalier</span></div>
      <h1>Log in to see what needs you</h1>
      {asked && <p class="muted any">{asked}</p>}
      {ways.includes("oidc") && <a class="btn primary wide" href={`/auth/oidc/login?return=${encodeURIComponent(nextPage(next))}`}><Icon name="key" /><span class="cutoff">Log in with {organisation || "your organisation"}</span></a>}
      {ways.includes("token") && (
        <form onSubmit={login}>
          <label class="field">Token of Kubernetes<input type="password" name="token" autocomplete="off" required value={token} onInput={(event) => setToken(event.currentTarget.value)} aria-describedby="token-help" aria-invalid={refused !== ""} /></label>
          <p id="token-help" class="hint">Pages show what this token may read, and nothing else. The server keeps it in memory, for this session; the browser gets a cookie without it. Make one for an hour:</p>
          <CommandLine text="kubectl create token NAME -n NAMESPACE --duration 1h" />
          {refused && <div class="banner failed" role="alert"><Icon name="failed" class="s-failed" /><span class="grow">{refused}</span></div>}
          <button type="submit" class={`btn wide ${ways.includes("oidc") ? "" : "primary"}`} aria-busy={busy}>Log in with the token</button>
        </form>
      )}
    </div>
  );
}
