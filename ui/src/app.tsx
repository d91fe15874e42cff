// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { QuestionBox, Toast } from "./actions";
import { said } from "./announce";
import { run, useCommands } from "./commands";
import { Sprite } from "./icons";
import { Keyboard } from "./keys";
import { sessionHolds } from "./page";
import { KeyList, Palette } from "./palette";
import { copyText, Empty } from "./parts";
import { go, parse, place, type Route } from "./router";
import { Shell } from "./shell";
import { pageActions, singleKeys } from "./state";
import { useStore } from "./store";
import { AccessView } from "./views/access";
import { BlueprintsView, BlueprintView } from "./views/blueprint";
import { InstallationView } from "./views/installation";
import { LoginView } from "./views/login";
import { OverviewView } from "./views/overview";
import { PipelineView } from "./views/pipeline";
import { TargetsView } from "./views/targets";

function View({ route }: { route: Route }) {
  switch (route.page) {
    case "overview": return <OverviewView part="all" />;
    case "installations": return <OverviewView part="installations" />;
    case "pipelines": return <OverviewView part="pipelines" />;
    case "installation": return <InstallationView key={`${route.namespace}/${route.name}`} namespace={route.namespace} name={route.name} />;
    case "pipeline": return <PipelineView key={`${route.namespace}/${route.name}`} namespace={route.namespace} name={route.name} />;
    case "targets": return <TargetsView />;
    case "blueprints": return <BlueprintsView />;
    case "blueprint": return <BlueprintView key={`${route.namespace}/${route.name}`} namespace={route.namespace} name={route.name} />;
    case "login": return <LoginView />;
    case "access": return <AccessView />;
    case "nowhere": return <Empty icon="search" title="There is no such page" text={`Nothing is at ${route.path}.`}><a class="btn" href="/">Overview</a></Empty>;
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && (target as HTMLInputElement).type !== "checkbox";
}

/** useKeys handles the keys of all pages. While a dialog is open, only its own keys work. */
function useKeys(): void {
  const keyboard = useMemo(() => new Keyboard(), []);
  keyboard.singles = useStore(singleKeys);
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
      const command = keyboard.press({
        key: event.key, ctrl: event.ctrlKey, meta: event.metaKey, alt: event.altKey, typing: isTyping(event.target), at: event.timeStamp,
      });
      if (command && run(command)) event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

/** Region announces changes. */
function Region() {
  return <div class="sr" role="status" aria-live="polite" id="said">{useStore(said)}</div>;
}

export function App() {
  const path = useStore(place, (at) => at.path);
  const route = useMemo(() => parse(path), [path]);
  const [floats, setFloats] = useState<"palette" | "keys" | undefined>();
  const first = useRef(true);
  useKeys();
  useCommands({
    palette: () => setFloats("palette"), help: () => setFloats("keys"), escape: () => setFloats(undefined),
    "go-overview": () => go("/"), "go-installations": () => go("/installations"), "go-pipelines": () => go("/pipelines"), "go-targets": () => go("/targets"),
    "copy-link": () => void copyText(window.location.href, "Link copied"),
  });
  useEffect(() => {
    if (route.page !== "login") void sessionHolds();
    pageActions.set([]);
    if (!first.current) document.getElementById("main")?.focus({ preventScroll: true });
    first.current = false;
  }, [path]);
  return (
    <>
      <Sprite />
      <Shell route={route} onFind={() => setFloats("palette")}><View route={route} /></Shell>
      {floats === "palette" && <Palette onClose={() => setFloats(undefined)} onHelp={() => setFloats("keys")} />}
      {floats === "keys" && <KeyList onClose={() => setFloats(undefined)} />}
      <QuestionBox />
      <Toast />
      <Region />
    </>
  );
}
