// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// A graph that can be moved by pointer and keys. The server lays it out; the tree table beside it is equivalent.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Edge, Graph, Node } from "./documents";
import { fit, neighbour, reveal, zoomAt, type Direction, type Look } from "./graph-model";
import { Icon } from "./icons";
import { colour, shape } from "./tone";

const directions: Record<string, Direction> = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "up", ArrowDown: "down" };
const tallest = 560;
const lowest = 220;

export function GraphBox({ graph, selected, onSelect, plain, label }: {
  graph: Graph; selected: string; onSelect: (id: string) => void; plain?: boolean; label: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [look, setLook] = useState<Look>();
  const [active, setActive] = useState("");
  const drag = useRef<{ x: number; y: number; look: Look; id: number } | undefined>(undefined);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => {
      const width = element.clientWidth;
      const zoom = Math.min(1, (width - 24) / Math.max(1, graph.width));
      const height = Math.round(Math.min(tallest, Math.max(lowest, graph.height * zoom + 40)));
      setSize((before) => (before.width === width && before.height === height ? before : { width, height }));
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, [graph.width, graph.height]);
  const shown = look ?? fit(graph, size);
  useEffect(() => setLook(undefined), [graph.width, graph.height, size.width]);
  useEffect(() => {
    const element = box.current;
    // The wheel scrolls the page; with Ctrl, or two fingers, it zooms. Preact's listeners are passive, and this one must prevent the page's
    // zoom.
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const at = (element as HTMLElement).getBoundingClientRect();
      setLook((before) => zoomAt(before ?? fit(graph, size), Math.exp(-event.deltaY / 300), event.clientX - at.left, event.clientY - at.top));
    };
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  }, [graph, size]);
  const nodes = useMemo(() => new Map(graph.nodes.map((node) => [node.id, node])), [graph]);
  const stop = nodes.has(active) ? active : nodes.has(selected) ? selected : (graph.nodes.find((node) => !node.group)?.id ?? "");
  const zoom = (factor: number) => setLook(zoomAt(shown, factor, size.width / 2, size.height / 2));
  const focus = (id: string) => {
    const node = nodes.get(id);
    if (!node) return;
    setActive(id);
    setLook(reveal(shown, node, size));
    [...(box.current?.querySelectorAll<SVGGElement>("g.node") ?? [])].find((each) => each.dataset.id === id)?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const direction = directions[event.key];
    if (direction) focus(neighbour(graph, stop, direction) ?? stop);
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") setLook(undefined);
    else if (event.key === "Enter" || event.key === " ") onSelect(stop);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0 || (event.target as Element).closest("g.node,button")) return;
    drag.current = { x: event.clientX, y: event.clientY, look: shown, id: event.pointerId };
    box.current?.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent) => {
    const from = drag.current;
    if (from?.id === event.pointerId) setLook({ ...from.look, x: from.look.x + event.clientX - from.x, y: from.look.y + event.clientY - from.y });
  };
  return (
    <div class="graph" ref={box} style={{ height: `${size.height || lowest}px` }} onPointerDown={onPointerDown} onPointerMove={onPointerMove}
      onPointerUp={() => { drag.current = undefined; }} onPointerCancel={() => { drag.current = undefined; }}>
      <svg class="g" role="group" aria-label={label} width={size.width} height={size.height} onKeyDown={onKeyDown}>
        <g transform={`translate(${shown.x} ${shown.y}) scale(${shown.zoom})`}>
          {graph.nodes.filter((node) => node.group).map((node) => <GroupBox key={node.id} node={node} />)}
          {graph.edges.map((edge, i) => <EdgeLine key={i} edge={edge} selected={selected} />)}
          {graph.edges.map((edge, i) => <EdgeLabel key={i} edge={edge} selected={selected} nodes={nodes} />)}
          {graph.nodes.filter((node) => !node.group).map((node) => (
            <NodeBox key={node.id} node={node} plain={plain} selected={node.id === selected} focusable={node.id === stop}
              onSelect={() => { setActive(node.id); onSelect(node.id); }} onFocus={() => setActive(node.id)} />
          ))}
        </g>
      </svg>
      <div class="zooms" role="group" aria-label="Zoom">
        <button type="button" aria-label="Larger" onClick={() => zoom(1.25)}><Icon name="plus" /></button>
        <button type="button" aria-label="Smaller" onClick={() => zoom(0.8)}><Icon name="minus" /></button>
        <button type="button" aria-label="Show all of it" onClick={() => setLook(undefined)}><Icon name="fit" /></button>
      </div>
    </div>
  );
}

function GroupBox({ node }: { node: Node }) {
  return (
    <g class="nodegroup" transform={`translate(${node.x} ${node.y})`}>
      <rect width={node.width} height={node.height} rx="10" />
      <foreignObject x="10" y="3" width={Math.max(0, node.width - 20)} height="20"><div class="grouptitle">{node.title}</div></foreignObject>
    </g>
  );
}

function EdgeLine({ edge, selected }: { edge: Edge; selected: string }) {
  const mine = selected !== "" && (edge.from === selected || edge.to === selected);
  return <path class={`edge ${edge.state}${edge.target ? " target" : ""}${mine ? " mine" : ""}`} d={edge.path} />;
}

function EdgeLabel({ edge, selected, nodes }: { edge: Edge; selected: string; nodes: Map<string, Node> }) {
  const from = nodes.get(edge.from);
  const to = nodes.get(edge.to);
  const mine = selected !== "" && (edge.from === selected || edge.to === selected);
  if (!edge.label || !from || !to || (!mine && edge.state !== "missing" && edge.state !== "cut")) return null;
  const room = Math.min(240, Math.max(60, to.x - from.x - from.width - 4));
  return <foreignObject x={edge.labelX - room / 2} y={edge.labelY - 14} width={room} height="16" class="labbox"><div class={`lab ${edge.state}`} title={edge.label}><span>{edge.label}</span></div></foreignObject>;
}

/** kindIcons are the shapes of the parts of a blueprint, which have no states. */
const kindIcons: Record<string, string> = { import: "in", target: "target", installation: "tree", template: "box", export: "out" };

function NodeBox({ node, plain, selected, focusable, onSelect, onFocus }: {
  node: Node; plain?: boolean; selected: boolean; focusable: boolean; onSelect: () => void; onFocus: () => void;
}) {
  const tone = plain ? "plain" : colour(node.status.tone);
  const dashed = !plain && node.status.tone === "not-yet";
  const w = node.width;
  const h = node.height;
  return (
    <g class={`node ${tone}${node.ghost ? " ghost" : ""}${dashed ? " dashed" : ""}`} data-id={node.id} transform={`translate(${node.x} ${node.y})`} role="button" tabindex={focusable ? 0 : -1}
      aria-pressed={selected} onClick={onSelect} onFocus={onFocus}>
      {selected && <rect class="sel" x="-3" y="-3" width={w + 6} height={h + 6} rx="10" />}
      <rect class="body" width={w} height={h} rx="8" />
      <rect class="focusring" x="-5" y="-5" width={w + 10} height={h + 10} rx="12" />
      {!plain && node.status.tone === "works" && !node.ghost && <rect class="arc" width={w} height={h} rx="8" pathLength="100" />}
      <svg class={plain ? "s-idle" : `s-${colour(node.status.tone)}`} x="12" y={h / 2 - 8} width="16" height="16"><use href={`#i-${plain ? (kindIcons[node.kind ?? ""] ?? "box") : node.ghost ? "unknown" : shape(node.status)}`} /></svg>
      <foreignObject x="36" y={h / 2 - 18} width={Math.max(0, w - 44)} height="36"><div class="nodetext" title={[node.title, node.detail].filter(Boolean).join(" ")}><div class="nm">{node.title}</div>{node.detail && <div class="sub">{node.detail}</div>}<span class="sr">{plain ? node.kind : node.status.word}</span></div></foreignObject>
    </g>
  );
}
