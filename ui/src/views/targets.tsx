// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Target clusters, and whether they are reachable.
import { useMemo, useRef } from "preact/hooks";
import { expiry, latency, reach } from "../check-model";
import { checking, checkNow, useChecks } from "../checks";
import { useCommands } from "../commands";
import type { Ref, TargetRow, Targets } from "../documents";
import { absolute, count, number } from "../format";
import { Icon } from "../icons";
import { Body, useLive, Verdict } from "../page";
import { Age, Banner, Empty, Hidden, Panel, RefLink, SearchField, State } from "../parts";
import { key } from "../refs";
import { useQuery } from "../router";
import { serverNow } from "../state";
import { useStore } from "../store";
import { grave } from "../tone";

export function TargetsView() {
  const live = useLive<Targets>("/api/v1/stream/targets");
  const { busy, refused } = useStore(checking);
  useChecks();
  const now = <div class="btns"><button type="button" class="btn" aria-busy={busy} onClick={() => void checkNow()}><Icon name="run" />{busy ? "Checking…" : "Check now"}</button></div>;
  return <Body live={live} title="Targets">{(doc) => <>{refused && <Banner tone="waiting" icon="warn"><b>The targets were not looked at.</b> {refused.message}</Banner>}<Verdict text={doc.verdict} actions={now}><p>{lookWords(doc)}</p></Verdict><Table rows={doc.rows} /><Hidden notes={doc.hidden} /></>}</Body>;
}

/** lookWords says when the targets were last checked, and what expires soon. */
function lookWords(doc: Targets) {
  const times = doc.rows.flatMap((row) => (row.check ? [row.check.at] : [])).sort();
  const soon = doc.rows.filter((row) => row.check?.expires && expiry(row.check.expires, serverNow()).state === "soon").length;
  const last = times[times.length - 1];
  return <>{last ? <Age since={last} before="Last checked " after=" ago." /> : doc.rows.length > 0 && "Not checked yet."}{soon > 0 && ` Certificates or tokens of ${count(soon, "target")} end soon.`}</>;
}

const rowsAtMost = 500;

function Table({ rows }: { rows: TargetRow[] }) {
  const [text, setText] = useQuery("q");
  const field = useRef<HTMLInputElement>(null);
  const shown = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) => words.every((word) => `${row.ref.name} ${row.ref.namespace} ${row.type} ${row.status.word} ${row.check?.version ?? ""}`.toLowerCase().includes(word)));
    return found.sort((a, b) => grave(reach(a).tone) - grave(reach(b).tone) || key(a.ref).localeCompare(key(b.ref)));
  }, [rows, text]);
  useCommands({ filter: () => field.current?.focus(), escape: () => (text ? setText("") : field.current?.blur()) });
  if (rows.length === 0) {
    return <Panel title="Targets"><Empty icon="target" title="No targets yet" text="A Target says where things are deployed to, and how to get in." command="kubectl get targets --all-namespaces" /></Panel>;
  }
  const head = <SearchField class="sp" field={field} label="Search targets" text={text} onText={setText} />;
  return (
    <Panel title="Targets" count={shown.length === rows.length ? number(rows.length) : `${number(shown.length)} of ${number(rows.length)}`} head={head}>
      {shown.length === 0 ? <Empty icon="search" title={`Nothing matches “${text}”`} text={`${count(rows.length, "target")} hidden by the search.`}><button type="button" class="btn" onClick={() => setText("")}>Clear search</button></Empty> : (
        <table class="tbl stack targets">
          <thead><tr><th scope="col" class="t-n">Name</th><th scope="col" class="t-s">State</th><th scope="col" class="t-v">Version</th><th scope="col" class="t-l">Answers in</th><th scope="col" class="t-c">Expires</th><th scope="col">Last look</th><th scope="col" class="t-r">Runs there</th></tr></thead>
          <tbody>{shown.slice(0, rowsAtMost).map((row) => <Line key={key(row.ref)} row={row} />)}</tbody>
        </table>
      )}
      {shown.length > rowsAtMost && <footer>Only {number(rowsAtMost)} of {number(shown.length)} are shown. Search to see others.</footer>}
    </Panel>
  );
}

function Line({ row }: { row: TargetRow }) {
  const check = row.check;
  return (
    <tr>
      <th scope="row" class="t-n"><span class="cellname"><span class="strong cutoff" title={row.ref.name}>{row.ref.name}</span><span class="faint cutoff" title={row.type}>{row.ref.namespace}</span></span></th>
      <td class="t-s"><State status={reach(row)} /></td>
      <td class="t-v num">{check?.version ?? (check ? "" : <span class="faint any">{row.type.split("/").pop()}</span>)}</td>
      <td class="t-l num">{check?.reachable ? <><span class="only-s faint">answers in </span>{latency(check.milliseconds)}</> : ""}</td>
      <td class="t-c"><Certificate expires={check?.expires} what={check?.expiring} /></td>
      <td class={`msg${check && !check.error ? "" : " wide"}`}><span class={check?.error ? "s-failed any" : "muted any"} title={check?.error}>{check?.error || (check ? <Age since={check.at} after=" ago" /> : row.status.message || "nobody has looked")}</span></td>
      <td class="t-r wide"><Runs refs={row.runs} /></td>
    </tr>
  );
}

const expiryLook = { fine: "muted", soon: "s-waiting", expired: "s-failed" };
const expiryIcon = { fine: "", soon: "warn", expired: "failed" };

function Certificate({ expires, what }: { expires: string | undefined; what: string | undefined }) {
  if (!expires) return null;
  const { state, text } = expiry(expires, serverNow());
  return <><span class={`num certificate ${expiryLook[state]}`} title={absolute(expires)}>{expiryIcon[state] && <Icon name={expiryIcon[state]} />}{text}</span>{what && <> <span class="faint cutoff">{what}</span></>}</>;
}

function Runs({ refs }: { refs: Ref[] }) {
  const first = refs[0];
  if (!first) return <span class="faint">nothing</span>;
  return <span class="any runs"><RefLink to={first} />{refs.length > 1 && <span class="muted"> and {number(refs.length - 1)} more</span>}</span>;
}
