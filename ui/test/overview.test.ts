// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import type { InstallationRow, Overview, OverviewChange, Tone } from "../src/documents";
import { applyChange, counts, groupRows, groupWords, lines, search } from "../src/overview-model";

function row(namespace: string, name: string, tone: Tone = "done", failed = 0): InstallationRow {
  return {
    ref: { kind: "Installation", namespace, name }, status: { tone, word: tone === "done" ? "Succeeded" : tone }, flow: "Job",
    progress: { all: 2, done: 1, running: 0, failed, waiting: 0 },
  };
}

const doc = (installations: InstallationRow[]): Overview => ({ now: "2026-01-01T00:00:00Z", verdict: "", needs: [], soon: [], pipelines: [], installations, hidden: [] });
const change = (more: Partial<OverviewChange>): OverviewChange => ({
  now: "2026-01-01T00:00:01Z", verdict: "new", needs: [], soon: [], hidden: [], pipelines: [], installations: [], gonePipelines: [], goneInstallations: [], ...more,
});

describe("changes", () => {
  it("replaces, adds and takes away rows, and keeps the others", () => {
    const [a, b, c] = [row("n", "a"), row("n", "b"), row("n", "c")];
    const next = applyChange(doc([a, b, c]), change({ installations: [row("n", "b", "failed"), row("n", "d")], goneInstallations: [c.ref] }));
    expect(next.installations.map((each) => [each.ref.name, each.status.tone])).toEqual([["a", "done"], ["b", "failed"], ["d", "done"]]);
    expect(next.installations[0]).toBe(a);
    expect(next.verdict).toBe("new");
  });
  it("keeps the list itself if no row has changed", () => {
    const before = doc([row("n", "a")]);
    expect(applyChange(before, change({})).installations).toBe(before.installations);
  });
});

describe("list", () => {
  it("counts an installation as failing as soon as something in it failed", () => {
    expect(counts([row("a", "x"), row("b", "x", "works", 1), row("c", "x", "works"), row("d", "x", "waits")])).toEqual({ all: 4, failing: 1, running: 1, succeeded: 1, other: 1 });
  });
  it("finds rows in which all words occur", () => {
    const rows = [row("shop-dev", "shop"), row("shop-prod", "mail")];
    expect(search(rows, "SHOP mail").map((each) => each.ref.name)).toEqual(["mail"]);
    expect(search(rows, " ")).toBe(rows);
  });
  it("puts the gravest group first, opens it, and folds what succeeded", () => {
    const rows = [...Array.from({ length: 10 }, (_, i) => row(`n${i}`, "shop")), row("bad", "shop", "failed"), row("a", "blog"), row("b", "ingress"), row("c", "ingress")];
    const shown = lines(groupRows(rows, "name"), new Map());
    expect(shown.map((line) => line.kind)).toEqual(["group", "row", "row", "more", "row", "group"]);
    expect(shown[3]).toMatchObject({ count: 9 });
    expect(groupWords((shown[0] as { group: Parameters<typeof groupWords>[0] }).group)).toBe("1 failing");
    expect(lines(groupRows(rows, "name"), new Map([["more/shop", true]])).filter((line) => line.kind === "row")).toHaveLength(12);
    expect(lines(groupRows(rows, "name"), new Map([["shop", false]]))).toHaveLength(3);
    expect(lines(groupRows(rows, "nothing"), new Map())).toHaveLength(14);
  });
  it("groups ten thousand rows into few lines", () => {
    const rows = Array.from({ length: 10_000 }, (_, i) => row(`n${i % 250}`, `s${Math.floor(i / 250)}`));
    expect(lines(groupRows(rows, "name"), new Map())).toHaveLength(40);
    expect(lines(groupRows(rows, "nothing"), new Map())).toHaveLength(10_000);
  });
});
