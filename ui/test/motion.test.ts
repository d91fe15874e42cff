// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import type { Environment, InstallationRow, Tone } from "../src/documents";
import { moves, spots } from "../src/glide-model";
import { freshIn, gone, heldWords, moved, renew } from "../src/hold-model";
import { groupRows, lines } from "../src/overview-model";
import { key } from "../src/refs";

const row = (namespace: string, name: string, tone: Tone = "done"): InstallationRow => ({
  ref: { kind: "Installation", namespace, name }, status: { tone, word: tone }, flow: "Job", progress: { all: 2, done: 2, running: 0, failed: 0, waiting: 0 },
});
const list = (rows: InstallationRow[]) => lines(groupRows(rows, "name"), new Map());
const latest = (rows: InstallationRow[]) => new Map(rows.map((each) => [key(each.ref), each]));

describe("a list that is read", () => {
  const before = [row("n", "a"), row("n", "b"), row("m", "c"), row("o", "c")];
  it("keeps its lines in their places and shows the latest of each", () => {
    const after = [row("n", "a"), row("n", "b", "failed"), row("m", "c", "works"), row("o", "c"), row("n", "aa")];
    const held = renew(list(before), latest(after));
    expect(held.map((line) => line.id)).toEqual(list(before).map((line) => line.id));
    expect(held.map((line) => (line.kind === "row" ? line.row.status.tone : line.group.tone))).toEqual(["done", "failed", "works"]);
    expect(moved(held, list(after), (line) => line.id)).toBe(true);
    expect(freshIn(after, before)).toBe(1);
  });
  it("keeps the place of one that is gone, and says so", () => {
    const held = renew(list(before), latest(before.slice(1)));
    expect(held[0]).toMatchObject({ kind: "row", row: { ref: { name: "a" }, status: { word: gone } } });
  });
  it("has nothing held back if nothing has moved", () => {
    expect(moved(list(before), list([...before]), (line) => line.id)).toBe(false);
    expect(freshIn(before, before)).toBe(0);
    expect([heldWords(0, false), heldWords(0, true), heldWords(2, true)]).toEqual(["", "Sort again", "2 new"]);
  });
});

const env = (name: string, revision: string, coming?: string): Environment => ({
  name, revision, ...(coming ? { coming } : {}), status: { tone: "done", word: "" }, progress: { all: 0, done: 0, running: 0, failed: 0, waiting: 0 }, targets: [], gates: [], actions: [],
});

describe("revisions that glide", () => {
  const names = ["dev", "staging", "prod"];
  const between = (before: Environment[], after: Environment[]) => moves(spots(before), spots(after), names);
  it("comes from the gate into the environment", () => {
    expect(between([env("dev", "2"), env("staging", "1", "2"), env("prod", "1")], [env("dev", "2"), env("staging", "2"), env("prod", "1")])).toEqual([{ from: "gate/staging", to: "card/staging" }]);
  });
  it("comes from the environment before into the gate", () => {
    expect(between([env("dev", "2"), env("staging", "2"), env("prod", "1")], [env("dev", "2"), env("staging", "2"), env("prod", "1", "2")])).toEqual([{ from: "card/staging", to: "gate/prod" }]);
  });
  it("does not move what stays, what is new, or what goes back", () => {
    const way = [env("dev", "2"), env("staging", "1", "2"), env("prod", "1")];
    expect(between(way, way)).toEqual([]);
    expect(between(way, [env("dev", "3"), env("staging", "1", "2"), env("prod", "1")])).toEqual([]);
    expect(between([env("dev", "2"), env("staging", "2"), env("prod", "1")], [env("dev", "1"), env("staging", "2"), env("prod", "1")])).toEqual([]);
  });
});
