// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The imports, exports and parts of a blueprint: its graph without states, its schemas, and what it renders with values for a trial.
import { useEffect, useMemo, useState } from "preact/hooks";
import { api, Refusal } from "../api";
import type { Blueprint, Edge, Node, Overview, OverviewChange, Parameter, Rendered } from "../documents";
import { count, number } from "../format";
import { GraphBox } from "../graph";
import { Icon } from "../icons";
import { applyChange } from "../overview-model";
import { Body, useLive, Verdict } from "../page";
import { CommandLine, CopyButton, Empty, Hidden, Loading, Panel, Segments } from "../parts";
import { key } from "../refs";
import { dot, overview as known } from "../state";
import { YamlLine } from "./yaml";

export function BlueprintsView() {
  const live = useLive<Overview>("/api/v1/stream/overview", (doc, change) => applyChange(doc, change as OverviewChange));
  const [text, setText] = useState("");
  const rows = live.state.doc?.installations;
  useEffect(() => { if (live.state.doc) known.set(live.state.doc); }, [live.state.doc]);
  const byComponent = useMemo(() => {
    const groups = new Map<string, NonNullable<typeof rows>>();
    for (const row of rows ?? []) {
      const name = row.component ? `${row.component} ${row.version ?? ""}`.trim() : row.ref.name;
      if (!`${name} ${row.ref.namespace}`.toLowerCase().includes(text.toLowerCase())) continue;
      groups.set(name, [...(groups.get(name) ?? []), row]);
    }
    return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  }, [rows, text]);
  return (
    <Body live={live} title="Blueprints">
      {(doc) => (
        <>
          <Verdict text={byComponent.length === 1 ? "1 blueprint is in use" : `${number(byComponent.length)} blueprints are in use`} />
          <Panel title="Blueprints" head={<label class="searchfield sp"><Icon name="search" class="faint" /><span class="sr">Search blueprints</span><input type="search" placeholder="Search" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>}>
            {byComponent.length === 0 ? <Empty icon="blueprint" title={text ? `Nothing matches “${text}”` : "No blueprints yet"} text="Blueprints are seen here once an installation uses them." /> : (
              <ul class="plainlist">{byComponent.slice(0, 300).map(([name, uses]) => (
                <li key={name}><a href={`/blueprints/${encodeURIComponent(uses[0]?.ref.namespace ?? "")}/${encodeURIComponent(uses[0]?.ref.name ?? "")}`}><Icon name="blueprint" class="faint" /><b class="any">{name}</b><span class="faint">used by {uses.length === 1 ? key(uses[0]!.ref).replace(/^[^/]*\//, "") : count(uses.length, "installation")}</span></a></li>
              ))}</ul>
            )}
            {byComponent.length > 300 && <footer>Only 300 of {number(byComponent.length)} are shown. Search to see others.</footer>}
          </Panel>
          <Hidden notes={doc.hidden} />
        </>
      )}
    </Body>
  );
}

export function BlueprintView({ namespace, name }: { namespace: string; name: string }) {
  const [shown, set] = useState<Blueprint | Refusal>();
  useEffect(() => {
    document.title = `Blueprint of ${name} · Espalier`;
    dot.set({ phase: "live" });
    api.blueprint(namespace, name).then(set, (error) => set(error instanceof Refusal ? error : new Refusal(0, String(error))));
  }, []);
  if (shown === undefined) return <Loading rows={9} />;
  if (shown instanceof Refusal) {
    return <Panel><Empty icon={shown.status === 403 ? "lock" : "blueprint"} title={`The blueprint of ${name} cannot be shown`} text={shown.message} command={shown.command || undefined} /></Panel>;
  }
  return <Page blueprint={shown} namespace={namespace} name={name} />;
}

const legend = (
  <div class="legend sp hide-s" aria-hidden="true">
    <span><svg width="22" height="6"><path class="edge" d="M0 3h22" /></svg>value</span>
    <span><svg width="22" height="6"><path class="edge target" d="M0 3h22" /></svg>target</span>
  </div>
);

function Page({ blueprint, namespace, name }: { blueprint: Blueprint; namespace: string; name: string }) {
  const [selected, select] = useState("");
  const node = blueprint.graph.nodes.find((each) => each.id === selected);
  return (
    <>
      <Verdict text={blueprint.name || `Blueprint of ${name}`} eyebrow={<><span>Blueprint</span><i>·</i><span class="any">of <a class="link" href={`/installations/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`}>{name}</a> in {namespace}</span></>}>
        <p>{count(blueprint.imports.length, "import")}, {count(blueprint.exports.length, "export")}{blueprint.graph.nodes.length > 0 && `, ${count(blueprint.graph.nodes.filter((each) => each.kind === "installation" || each.kind === "template").length, "part")}`}.</p>
      </Verdict>
      {blueprint.graph.nodes.length > 0 && (
        <Panel title="What goes through it" class="values" head={legend}>
          <div class="split open"><GraphBox graph={blueprint.graph} selected={selected} onSelect={(id) => select(id === selected ? "" : id)} plain label="Imports, parts and exports of the blueprint, and what goes between them" />
            <aside class="drawer" aria-label="Schemas"><div class="in tall" tabIndex={0} role="group" aria-label="Imports and exports">
              {node && <section><h3><Icon name="box" class="faint" />{node.title}</h3>{node.detail && <p class="muted any">{node.detail}</p>}
                <EdgeList title="Takes" of={blueprint.graph.edges.filter((edge) => edge.to === selected)} nodes={blueprint.graph.nodes} end="from" />
                <EdgeList title="Gives" of={blueprint.graph.edges.filter((edge) => edge.from === selected)} nodes={blueprint.graph.nodes} end="to" /></section>}
              <Parameters icon="in" title="Imports" of={blueprint.imports} /><Parameters icon="out" title="Exports" of={blueprint.exports} />
            </div></aside></div>
        </Panel>
      )}
      {blueprint.graph.nodes.length === 0 && <Panel title="Imports and exports"><div class="drawer"><Parameters icon="in" title="Imports" of={blueprint.imports} /><Parameters icon="out" title="Exports" of={blueprint.exports} /></div></Panel>}
      <Try blueprint={blueprint} namespace={namespace} name={name} />
      {blueprint.source && <Panel title="Source" head={<span class="sp"><CopyButton text={blueprint.source} label="Copy the source" /></span>}><pre class="code" tabIndex={0} aria-label="Source of the blueprint">{blueprint.source.split("\n").map((line, i) => <YamlLine key={i} text={line} />)}</pre></Panel>}
    </>
  );
}

/**
 * EdgeList lists the values that a part gets, and from where, or those that it passes on. A value without a name is the import or
 * export itself.
 */
function EdgeList({ title, of, nodes, end }: { title: string; of: Edge[]; nodes: Node[]; end: "from" | "to" }) {
  if (of.length === 0) return null;
  const titleOf = (id: string) => nodes.find((node) => node.id === id)?.title ?? id;
  return (
    <dl class="takes"><dt>{title}</dt>
      {of.map((edge, i) => <dd key={i}>{edge.target && <Icon name="target" class="faint" />}{edge.target && <span class="sr">target </span>}{edge.label && <><span class="mono any">{edge.label}</span> <span class="faint">{end}</span> </>}<span class="any">{titleOf(edge[end])}</span></dd>)}
    </dl>
  );
}

function Parameters({ icon, title, of }: { icon: string; title: string; of: Parameter[] }) {
  if (of.length === 0) return null;
  return (
    <section><h3><Icon name={icon} class="faint" />{title} <span class="faint">{number(of.length)}</span></h3>
      {of.map((each) => {
        const schema = each.schema === undefined || each.schema === null || each.schema === "" ? "" : typeof each.schema === "string" ? each.schema : JSON.stringify(each.schema, null, 2);
        return <div class="val" key={each.name}><span class="nm">{each.name}</span><span class="ty">{each.type}</span>{schema && <details><summary>Schema</summary><pre>{schema}</pre></details>}</div>;
      })}
    </section>
  );
}

function Try({ blueprint, namespace, name }: { blueprint: Blueprint; namespace: string; name: string }) {
  const [values, setValues] = useState(() => blueprint.imports.filter((each) => each.type !== "target" && each.type !== "targetList").map((each) => `${each.name}: \n`).join(""));
  const [answer, set] = useState<Rendered | Refusal | "asking">();
  const [at, setAt] = useState("0");
  const render = (event: Event) => {
    event.preventDefault();
    set("asking");
    setAt("0");
    api.render(namespace, name, values).then(set, (error) => set(error instanceof Refusal ? error : new Refusal(0, String(error))));
  };
  return (
    <Panel title="Try values" class="try">
      <div class="trysplit">
        <form onSubmit={render}>
          <label class="field">Values, as YAML<textarea rows={14} spellcheck={false} value={values} onInput={(event) => setValues(event.currentTarget.value)} /></label>
          <div class="btns"><button type="submit" class="btn primary" aria-busy={answer === "asking"}>Render</button><span class="faint hint">Nothing is changed by it.</span></div>
        </form>
        <div class="rendered" aria-live="polite">
          {answer === undefined && <p class="nothing">The objects that these values make come here.</p>}
          {answer === "asking" && <Loading rows={5} />}
          {answer instanceof Refusal && <><p class="s-failed any">{answer.message}</p>{answer.command && <CommandLine text={answer.command} />}</>}
          {answer !== undefined && answer !== "asking" && !(answer instanceof Refusal) && <RenderedItems answer={answer} at={at} setAt={setAt} />}
        </div>
      </div>
    </Panel>
  );
}

function RenderedItems({ answer, at, setAt }: { answer: Rendered; at: string; setAt: (at: string) => void }) {
  const item = answer.items[Number(at)];
  return (
    <>
      {answer.message && <p class="any s-failed">{answer.message}</p>}
      {answer.items.length > 1 && <div class="filters"><Segments label="Rendered objects" value={at} onChange={setAt} options={answer.items.map((each, i) => ({ value: String(i), text: each.name }))} /></div>}
      {item ? <div class="yaml"><CopyButton text={item.yaml} label={`Copy ${item.name}`} /><pre tabIndex={0} aria-label={`YAML of ${item.name}`}>{item.yaml.split("\n").map((line, i) => <YamlLine key={i} text={line} />)}</pre></div> : !answer.message && <p class="nothing">These values make no object.</p>}
    </>
  );
}
