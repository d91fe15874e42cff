// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import type { Graph, Row, Tone } from "../src/documents";
import { fit, neighbour, reveal, zoomAt } from "../src/graph-model";
import { bars, criticalPath, scaleOf, unfolded, visible } from "../src/tree-model";

const start = Date.parse("2026-01-01T12:00:00Z");
const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();

function row(id: string, parent: string | undefined, depth: number, tone: Tone, from?: number, to?: number, waitedFor: string[] = []): Row {
  return {
    id, ...(parent ? { parent } : {}), depth, title: id, ref: { kind: "Installation", namespace: "n", name: id }, status: { tone, word: tone }, waitedFor, imports: [], exports: [], objects: [],
    spans: from === undefined ? [] : [{ what: "works", tone, start: at(from), ...(to === undefined ? {} : { end: at(to) }) }],
  };
}

const rows = [
  row("shop", undefined, 0, "works", 0), row("db", "shop", 1, "done", 0, 4), row("db-item", "db", 2, "done", 0, 4), row("cache", "shop", 1, "done", 0, 1),
  row("pay", "shop", 1, "failed", 4, 15, ["cache", "db"]), row("pay-item", "pay", 2, "failed", 5, 15), row("web", "shop", 1, "not-yet", undefined, undefined, ["pay"]),
];

describe("tree", () => {
  it("opens the first row and what is above a failure", () => expect([...unfolded(rows, new Map())]).toEqual(["shop", "pay"]));
  it("shows what is unfolded, and as somebody has set it", () => {
    expect(visible(rows, unfolded(rows, new Map()), "all").map((each) => each.id)).toEqual(["shop", "db", "cache", "pay", "pay-item", "web"]);
    expect(visible(rows, unfolded(rows, new Map([["db", true], ["pay", false]])), "all").map((each) => each.id)).toEqual(["shop", "db", "db-item", "cache", "pay", "web"]);
    expect(visible(rows, unfolded(rows, new Map([["shop", false]])), "all").map((each) => each.id)).toEqual(["shop"]);
  });
  it("shows what is not done wherever it is", () => expect(visible(rows, new Set(), "open").map((each) => each.id)).toEqual(["shop", "pay", "pay-item", "web"]));
  it("shows rows whose parent is not there", () => expect(visible([row("x", "gone", 3, "done")], new Set(), "all")).toHaveLength(1));
  it("follows what was waited for last", () => expect(criticalPath(rows)).toEqual(["db", "pay", "web"]));
  it("survives a circle", () => {
    const circle = [row("a", "r", 1, "done", 0, 1, ["b"]), row("b", "r", 1, "done", 0, 1, ["a"]), row("c", "r", 1, "done", 0, 2, ["a"])];
    expect(criticalPath(circle)).toEqual(["b", "a", "c"]);
  });
});

describe("waterfall", () => {
  it("shows the whole job with room after it", () => {
    const scale = scaleOf(rows, { start: at(0) }, start + 20 * 60_000)!;
    expect(scale.now).toBeCloseTo(93.02, 1);
    expect(scale.ticks.length).toBeGreaterThan(2);
    expect(scale.ticks.length).toBeLessThan(8);
  });
  it("has no scale without times", () => expect(scaleOf([row("x", undefined, 0, "not-yet")], undefined, start)).toBeUndefined());
  it("ends what goes on now, and stays inside", () => {
    const now = start + 20 * 60_000;
    const scale = scaleOf(rows, { start: at(0) }, now)!;
    const [bar] = bars(rows[0]!, scale, now);
    expect(bar!.open).toBe(true);
    expect(bar!.x + bar!.width).toBeCloseTo(scale.now, 5);
    expect(bars(row("old", undefined, 0, "done", -60, -50), scale, now)).toEqual([]);
    for (const each of rows.flatMap((r) => bars(r, scale, now))) expect(each.x + each.width).toBeLessThanOrEqual(100);
  });
});

describe("graph", () => {
  const node = (id: string, x: number, y: number) => ({ id, x, y, width: 148, height: 50, title: id, status: { tone: "done" as Tone, word: "" } });
  const edge = (from: string, to: string) => ({ from, to, state: "there", path: "", labelX: 0, labelY: 0 });
  const graph: Graph = { width: 800, height: 400, nodes: [node("a", 0, 0), node("b", 0, 88), node("c", 216, 0), node("d", 216, 88)], edges: [edge("a", "c"), edge("a", "d"), edge("b", "d")] };
  it("fits, and is never larger than it is", () => {
    expect(fit(graph, { width: 2000, height: 1000 }).zoom).toBe(1);
    expect(fit(graph, { width: 424, height: 1000 }).zoom).toBe(0.5);
    expect(fit({ width: 0, height: 0 }, { width: 100, height: 100 })).toEqual({ x: 0, y: 0, zoom: 1 });
  });
  it("zooms around a point, within limits", () => {
    const look = zoomAt({ x: 10, y: 10, zoom: 1 }, 2, 110, 60);
    expect((110 - look.x) / look.zoom).toBeCloseTo(100);
    expect(zoomAt(look, 100, 0, 0).zoom).toBe(2.5);
    expect(zoomAt(look, 0.0001, 0, 0).zoom).toBe(0.15);
  });
  it("moves along values and columns", () => {
    expect(neighbour(graph, "a", "right")).toBe("c");
    expect(neighbour(graph, "d", "left")).toBe("b");
    expect(neighbour(graph, "a", "down")).toBe("b");
    expect(neighbour(graph, "a", "up")).toBeUndefined();
    expect(neighbour(graph, "gone", "up")).toBe("a");
  });
  it("brings a node into the box", () => {
    expect(reveal({ x: 0, y: 0, zoom: 1 }, node("z", 900, 10), { width: 500, height: 300 }).x).toBe(-560);
    const look = { x: 0, y: 0, zoom: 1 };
    expect(reveal(look, node("z", 20, 20), { width: 500, height: 300 })).toBe(look);
  });
});
