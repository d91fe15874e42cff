// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Actions of users. Each has a command beside it, asks for confirmation, and says why it is disabled.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { announce } from "./announce";
import { api, Refusal } from "./api";
import { refusalOf } from "./asked";
import { Decision } from "./decision";
import { Dialog } from "./dialog";
import type { Action, Preview, Ref } from "./documents";
import { count } from "./format";
import { Icon } from "./icons";
import { CommandLine, CopyButton, Loading } from "./parts";
import { dot, toast, useTicking } from "./state";
import { Store, useStore } from "./store";

export interface Subject { ref: Ref; environment?: string; revision?: string }
interface Question { action: Action; subject: Subject }

/** question is the action that awaits confirmation. */
const question = new Store<Question | undefined>(undefined);

/** ask opens the question before an action; a disabled one says why instead. */
export function ask(action: Action, subject: Subject): void {
  const locked = action.denied || action.unavailable;
  if (locked) {
    toast.set({ text: locked, bad: true });
    announce(locked, 1);
    return;
  }
  question.set({ action, subject });
}

const icons: Record<string, string> = {
  reconcile: "run", interrupt: "stop", abort: "x", force: "bolt", delete: "trash", approve: "check", reject: "rejected", promote: "chev",
  retry: "run", hold: "held", release: "run",
};

/** ActionButton is a button with the command to copy beside it. A disabled one stays, and says why on focus. */
export function ActionButton({ action, subject, kind = "" }: { action: Action; subject: Subject; kind?: string }) {
  const id = useId();
  const locked = action.denied || action.unavailable;
  return (
    <span class="act">
      <span class="joined">
        <button type="button" class={`btn ${locked ? "" : kind}`} aria-disabled={locked ? "true" : undefined} aria-describedby={locked ? id : undefined}
          onClick={() => ask(action, subject)}>
          <Icon name={action.denied ? "lock" : icons[action.id] ?? "chev"} /><span class="cutoff">{action.label}</span>
        </button>
        <CopyButton text={action.command} label={`Copy the command for ${action.label}: ${action.command}`} />
      </span>
      {locked && <span class="tip" role="tooltip" id={id}>{locked}</span>}
    </span>
  );
}

/** Actions shows the first ones as buttons and the others in a menu, with their commands. */
export function Actions({ actions, subject, first = 2 }: { actions: Action[]; subject: Subject; first?: number }) {
  if (actions.length === 0) return null;
  return (
    <div class="btns">
      {actions.slice(0, first).map((action) => <ActionButton key={action.id} action={action} subject={subject} />)}
      {actions.length > first && <Menu actions={actions.slice(first)} subject={subject} label="More actions" />}
    </div>
  );
}

/** Menu is a list of actions that opens below its button. */
export function Menu({ actions, subject, label }: { actions: Action[]; subject: Subject; label: string }) {
  const [open, set] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const away = (event: Event) => box.current && !box.current.contains(event.target as Element) && set(false);
    document.addEventListener("pointerdown", away);
    document.addEventListener("focusin", away);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("focusin", away);
    };
  }, [open]);
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !open) return;
    event.stopPropagation();
    set(false);
    button.current?.focus();
  };
  return (
    <div class="menu" ref={box} onKeyDown={keys}>
      <button type="button" class="btn icon" ref={button} aria-label={label} aria-expanded={open} onClick={() => set(!open)}><Icon name="more" /></button>
      {open && (
        <ul class="sheet">
          {actions.map((action) => {
            const locked = action.denied || action.unavailable;
            return (
              <li key={action.id}>
                <button type="button" class={`item${action.danger ? " danger" : ""}`} aria-disabled={locked ? "true" : undefined}
                  onClick={() => { ask(action, subject); if (!locked) set(false); }}>
                  <Icon name={action.denied ? "lock" : icons[action.id] ?? "chev"} /><b>{action.label}</b>
                  <small>{locked || action.explanation}</small>
                </button>
                <CommandLine text={action.command} />
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}

/** wantsReason contains the actions that take a reason for others to read. */
const wantsReason = new Set(["reject", "hold"]);

/** previewed contains the actions whose effects the server can preview. */
const previewed = new Set(["delete", "reconcile", "force", "interrupt", "abort", "promote", "approve", "reject", "retry", "hold", "release"]);

/** QuestionBox asks for confirmation of an action and performs it. */
export function QuestionBox() {
  const asked = useStore(question);
  return asked ? <Asked key={asked.action.id} {...asked} /> : null;
}

function Asked({ action, subject }: Question) {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refusal>();
  const close = () => question.set(undefined);
  const field = useId();
  const act = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setRefused(undefined);
    try {
      const { message } = await api.act({
        action: action.id, ref: subject.ref, environment: subject.environment ?? "", revision: subject.revision ?? "", reason,
      });
      toast.set({ text: message, bad: false });
      announce(message, 2);
      close();
    } catch (error) {
      setBusy(false);
      setRefused(error instanceof Refusal ? error : new Refusal(0, String(error)));
    }
  };
  const asks = action.confirm || `${action.label}?`;
  return (
    <Dialog label={asks} class="ask" onClose={close}>
      <form onSubmit={act}>
        <h2>{asks}</h2>
        {action.explanation && <p>{action.explanation}</p>}
        <StaleWarning />
        {previewed.has(action.id) && <Consequences action={action.id} subject={subject} />}
        {wantsReason.has(action.id) && (
          <label class="field" for={field}>Reason, for others to read<input id={field} value={reason} autocomplete="off" onInput={(event) => setReason(event.currentTarget.value)} /></label>
        )}
        {refused && <div class="banner failed" role="alert"><Icon name="failed" class="s-failed" /><span class="grow">{refused.message}</span></div>}
        {refused?.command && <CommandLine text={refused.command} />}
        <div class="also"><span>In a terminal</span><CommandLine text={action.command} /></div>
        <div class="btns end">
          <button type="button" class="btn" onClick={close}>{action.danger ? "Keep" : "Cancel"}</button>
          <button type="submit" class={`btn ${action.id === "approve" ? "you" : action.danger ? "danger" : "primary"}`} aria-busy={busy}>{action.label}</button>
        </div>
      </form>
    </Dialog>
  );
}

function StaleWarning() {
  const at = useStore(dot);
  if (at.phase !== "lost") return null;
  return <div class="banner waiting" role="status"><Icon name="unknown" class="s-waiting" /><span class="grow">This page is not live. What you see may have changed since.</span></div>;
}

/** Consequences shows what an action would affect, and nothing if the server does not know. */
function Consequences({ action, subject }: { action: string; subject: Subject }) {
  const [shown, set] = useState<Preview | Refusal>();
  useEffect(() => {
    api.preview(action, subject.ref, subject.environment, subject.revision).then(set, (error) => set(refusalOf(error)));
  }, []);
  if (!shown) return <Loading rows={2} />;
  if (shown instanceof Refusal && action !== "delete" && [400, 404, 422].includes(shown.status)) return null;
  if (shown instanceof Refusal) return <p class="s-failed any">What this would affect cannot be shown. {shown.message}</p>;
  return (
    <div class="consequences">
      {shown.text && <p class="any">{shown.text}</p>}
      {shown.promotion && <Decision of={shown.promotion} />}
      {shown.objects.length > 0 && (
        <details><summary>{count(shown.objects.length, "object")}</summary>
          <ul>{shown.objects.slice(0, 500).map((ref, i) => <li key={i}><span class="faint">{ref.kind}</span> {ref.namespace ? `${ref.namespace}/` : ""}{ref.name}</li>)}</ul>
        </details>
      )}
    </div>
  );
}

/** Toast shows the answer to the last action. It disappears by itself if the action succeeded. */
export function Toast() {
  const said = useStore(toast);
  useEffect(() => {
    if (!said) return;
    const timer = window.setTimeout(() => toast.value === said && toast.set(undefined), said.bad ? 12_000 : 6_000);
    return () => window.clearTimeout(timer);
  }, [said]);
  if (!said) return null;
  return (
    <div class={`toast${said.bad ? " bad" : ""}`}><Icon name={said.bad ? "lock" : "done"} class={said.bad ? "s-waiting" : "s-done"} /><span class="grow">{said.text}</span>
      <button type="button" class="copy" aria-label="Close" onClick={() => toast.set(undefined)}><Icon name="x" /></button></div>
  );
}

/** NextTry counts down to the next attempt to reconnect a lost stream. */
export function NextTry({ at }: { at: number | undefined }) {
  const left = useTicking(() => (at === undefined ? -1 : Math.max(0, Math.ceil((at - Date.now()) / 1000))));
  return <>{left < 0 ? "Trying again." : `Trying again in ${left} s.`}</>;
}
