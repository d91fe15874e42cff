// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import { changes, checkOf, known, rightsOf } from "../src/access-model";
import { Book } from "../src/asked";
import { expiry, isDue, latency, reach } from "../src/check-model";
import { changeLook, diffText, diffWords, isLong, maskedWords, pieces, placeWords, tally } from "../src/diff-model";
import type { DiffLine, LiveObject, ObjectDiff, PastJob, Row, TargetRow, Tone } from "../src/documents";
import { belowWords, canOpen, isLiveRow, isOver, liveRows, liveWords, opensAtFirst, sidesOf, stampOf, withLive, worst } from "../src/live-model";
import { levelCounts, levelOf, logText, ofLevel } from "../src/log-model";
import { pastLines, pastWords } from "../src/past-model";
import { Refusal } from "../src/refusal";
import { typed, typesNote } from "../src/values-model";

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("book", () => {
  it("asks once for a stamp, again for another, and keeps what was there meanwhile", async () => {
    const asked: string[] = [];
    const book = new Book<string>(async (name) => { asked.push(name); return `answer ${asked.length}`; }, () => 7);
    book.want("a", "1");
    book.want("a", "1");
    expect(book.pages.value.get("a")).toEqual({ asking: true });
    await turn();
    expect(book.pages.value.get("a")).toEqual({ answer: "answer 1", asking: false, at: 7 });
    book.want("a", "2");
    expect(book.pages.value.get("a")).toMatchObject({ answer: "answer 1", asking: true });
    await turn();
    book.again("a");
    await turn();
    expect(book.pages.value.get("a")?.answer).toBe("answer 3");
    book.want("a", "2");
    expect(asked).toHaveLength(3);
  });
  it("throws away an answer that comes after a later question", async () => {
    const open: ((text: string) => void)[] = [];
    const book = new Book<string>(() => new Promise((resolve) => open.push(resolve)));
    book.want("a", "1");
    book.want("a", "2");
    open[1]?.("new");
    await turn();
    open[0]?.("old");
    await turn();
    expect(book.pages.value.get("a")?.answer).toBe("new");
  });
  it("keeps the answer when a later question is refused, and forgets the refusal after that", async () => {
    let refuse = false;
    const book = new Book<string>(async () => { if (refuse) throw new Refusal(403, "no"); return "yes"; });
    book.want("a", "1");
    await turn();
    refuse = true;
    book.again("a");
    await turn();
    expect(book.pages.value.get("a")).toMatchObject({ answer: "yes", refused: { status: 403, message: "no" }, asking: false });
    refuse = false;
    book.again("a");
    await turn();
    expect(book.pages.value.get("a")?.refused).toBeUndefined();
  });
});

const object = (kind: string, name: string, tone: Tone = "done", below: LiveObject[] = [], message?: string): LiveObject => ({ kind, name, namespace: "n", status: { tone, word: tone, ...(message ? { message } : {}) }, below });
const item = (tone: Tone = "done", objects: Row["objects"] = []): Row => ({
  id: "DeployItem/n/i", ref: { kind: "DeployItem", namespace: "n", name: "i" }, depth: 2, title: "i", status: { tone, word: tone }, spans: [], waitedFor: [], imports: [], exports: [], objects,
});

describe("live objects", () => {
  const bad = object("Deployment", "d", "works", [object("ReplicaSet", "r", "done", [object("Pod", "p1"), object("Pod", "p2", "failed", [], "no image")])]);
  it("wears the gravest of what is below, and opens where something is not done", () => {
    expect(worst(bad)).toBe("failed");
    expect(opensAtFirst(bad)).toBe(true);
    expect(opensAtFirst(object("Deployment", "d", "failed", [object("Pod", "p")]))).toBe(false);
  });
  it("counts objects, pods and what is not ready", () => {
    expect(liveWords([bad, object("Service", "s")])).toBe("3 objects, 2 pods, 2 not ready");
    expect(liveWords([object("Service", "s")])).toBe("1 object");
    expect(belowWords(bad)).toBe("3 objects");
    expect(belowWords(bad.below[0] as LiveObject)).toBe("2 pods");
  });
  it("asks anew when the state or the objects of an item change, and only then", () => {
    expect(stampOf(item())).toBe(stampOf({ ...item(), spans: [{ what: "works", tone: "done", start: "" }] }));
    expect(stampOf(item())).not.toBe(stampOf(item("failed")));
    expect(stampOf(item())).not.toBe(stampOf(item("done", [{ kind: "Pod", name: "p" }])));
  });
  it("becomes rows below the deploy item, each deeper than what holds it, with names of their own", () => {
    const rows = liveRows(item(), { asking: false, answer: { objects: [bad] } });
    expect(rows.map((row) => [row.title, row.depth, row.waitsFor])).toEqual([["d", 3, undefined], ["r", 4, undefined], ["p1", 5, undefined], ["p2", 5, "no image"]]);
    expect(rows.every(isLiveRow)).toBe(true);
    expect(new Set(rows.map((row) => row.id)).size).toBe(4);
    expect(rows[2]?.parent).toBe(rows[1]?.id);
    expect(withLive([item(), { ...item(), id: "other" }], new Set(["DeployItem/n/i"]), new Map([["DeployItem/n/i", { asking: false, answer: { objects: [bad] } }]]))).toHaveLength(6);
  });
  it("says in a row why there are none", () => {
    const said = (asked: Parameters<typeof liveRows>[1]) => liveRows(item(), asked).map((row) => `${row.status.word}: ${row.waitsFor}`);
    expect(said(undefined)).toEqual(["Looking: at the target of i"]);
    expect(said({ asking: false, answer: { objects: [] } })).toEqual(["Nothing: it has no objects in its target now"]);
    expect(said({ asking: false, answer: { objects: [], message: "no route" } })).toEqual(["Not known: no route"]);
    expect(said({ asking: false, refused: new Refusal(403, "You need get on secrets.") })).toEqual(["Not shown: You need get on secrets."]);
  });
});

describe("a live object", () => {
  const named = (more: Partial<LiveObject>): LiveObject => ({ ...object("Pod", "p"), apiVersion: "v1", ...more });
  it("opens if it is there and has a name", () => {
    expect(canOpen(named({}))).toBe(true);
    expect([canOpen(object("Pod", "p")), canOpen(named({ name: "?" })), canOpen(named({ status: { tone: "failed", word: "Gone" } }))]).toEqual([false, false, false]);
  });
  it("has what was rendered beside it if that is known", () => {
    expect(sidesOf({ live: "a" }).map((each) => each.side)).toEqual(["live"]);
    expect(sidesOf({ live: "a", rendered: "b" }).map((each) => each.text)).toEqual(["a", "b"]);
  });
  it("is not shown any more once it is gone or refused, but stays while the server is away", () => {
    expect([undefined, new Refusal(404, ""), new Refusal(403, ""), new Refusal(0, "")].map((refused) => isOver({ asking: false, ...(refused ? { refused } : {}) }))).toEqual([false, true, true, false]);
  });
});

describe("values of a blueprint in a registry", () => {
  const value = (name: string, more = {}): Row["imports"][number] => ({ name, kind: "data", state: "there", ...more });
  const row: Row = { ...item(), imports: [value("a"), value("b", { type: "string" }), value("c[0]")], exports: [value("out")] };
  const declared = { imports: [{ name: "a", type: "integer" }, { name: "b", type: "object" }, { name: "c", type: "kubernetes-cluster" }, { name: "e" }], exports: [{ name: "out", type: "list" }], defaults: [value("d", { state: "default" }), value("a", { state: "default" })] };
  it("get its types and defaults", () => {
    expect(typed(row, undefined)).toEqual({ imports: row.imports, exports: row.exports });
    const { imports, exports } = typed(row, declared);
    expect(imports.map((each) => [each.name, each.type])).toEqual([["a", "integer"], ["b", "string"], ["c[0]", "kubernetes-cluster"], ["d", undefined]]);
    expect(exports[0]?.type).toBe("list");
  });
  it("say what is missing", () => {
    expect(typesNote(undefined)).toMatch(/being read/);
    expect(typesNote({ asking: false, answer: declared })).toBe("");
    expect(typesNote({ asking: false, answer: { ...declared, message: "No." } })).toBe("Types and defaults are not shown. No.");
    expect(typesNote({ asking: false, refused: new Refusal(403, "You may not.") })).toBe("Types and defaults are not shown. You may not.");
  });
});

describe("log", () => {
  const lines = [{ level: "info", text: "a", time: "T1" }, { level: "ERROR", text: "b" }, { level: "odd", text: "c" }];
  it("takes unknown levels for information, counts and filters", () => {
    expect(lines.map(levelOf)).toEqual(["info", "error", "info"]);
    expect(levelCounts(lines)).toEqual([{ level: "all", count: 3 }, { level: "info", count: 2 }, { level: "error", count: 1 }]);
    expect(levelCounts(lines.slice(0, 1))).toEqual([]);
    expect(ofLevel(lines, "error").map((line) => line.text)).toEqual(["b"]);
  });
  it("is copied with whole times and levels", () => expect(logText(lines)).toBe("T1 info a\nerror b\ninfo c"));
});

const lines = (text: string): DiffLine[] => text.split("|").map((each) => ({ op: each.charAt(0), text: each.slice(1) }));
const differs = (text: string, change = "update"): ObjectDiff => ({ ref: { kind: "DeployItem", namespace: "n", name: "d" }, title: "d", change, lines: lines(text) });

describe("diff", () => {
  it("counts lines, and a masked value that changes once", () => {
    expect(tally(differs(" a|-b: <masked>|+b: <masked>| c: <masked>|+d"))).toEqual({ added: 2, removed: 1, masked: 2 });
    expect(maskedWords(0)).toBe("");
    expect(maskedWords(1)).toMatch(/^1 value is/);
    expect(maskedWords(2)).toMatch(/^2 values are/);
  });
  it("folds what stays and is far from a change, and numbers lines of both sides", () => {
    const many = differs([...Array.from({ length: 10 }, (_, i) => ` ${i}`), "-old", "+new", ...Array.from({ length: 8 }, (_, i) => ` ${i}`)].join("|"));
    const shown = pieces(many.lines);
    expect(shown.map((piece) => (piece.kind === "gap" ? `gap ${piece.from} ${piece.lines}` : `${piece.line.op}${piece.old ?? ""}/${piece.new ?? ""}`)))
      .toEqual(["gap 0 7", " 8/8", " 9/9", " 10/10", "-11/", "+/11", " 12/12", " 13/13", " 14/14", "gap 15 5"]);
    expect(pieces(many.lines, new Set([0]))).toHaveLength(16);
    expect(pieces(many.lines, new Set([0, 15]))).toHaveLength(20);
    expect(pieces([])).toEqual([]);
  });
  it("sums up, folds long ones, and is copied as diff writes it", () => {
    expect(diffWords({ notes: [], objects: [differs("+a", "create"), differs("+a"), differs("-a", "delete"), differs("+b")] })).toBe("1 created, 2 changed, 1 deleted");
    expect(isLong(differs("+a"))).toBe(false);
    expect(isLong(differs(Array.from({ length: 40 }, () => "+a").join("|")))).toBe(true);
    expect(diffText(differs(" a|-b|+c"))).toBe(" a\n-b\n+c");
    expect(placeWords("shop/database")).toBe("shop › database");
    expect(changeLook("odd")).toMatchObject({ word: "odd" });
  });
});

describe("past jobs", () => {
  const job = (id: string, seconds: number | undefined, tone: Tone = "done"): PastJob => ({ id, status: { tone, word: tone }, start: "2026-01-01T00:00:00Z", ...(seconds === undefined ? {} : { end: new Date(Date.parse("2026-01-01T00:00:00Z") + seconds * 1000).toISOString() }) });
  it("has bars by the longest, and none where the time is not known", () => {
    expect(pastLines([job("a", 100), job("b", 50), job("c", 0), job("d", undefined)]).map((line) => [line.seconds, line.share])).toEqual([[100, 100], [50, 50], [0, 1], [undefined, 0]]);
    expect(pastLines([])).toEqual([]);
  });
  it("sums up", () => {
    expect(pastWords([job("a", 100), job("b", 50, "failed"), job("c", 70)])).toBe("2 of 3 succeeded, half took up to 1 min 10 s");
    expect(pastWords([job("a", undefined)])).toBe("1 of 1 succeeded");
    expect(pastWords([])).toBe("");
  });
});

describe("checks", () => {
  const now = Date.parse("2026-01-10T12:00:00Z");
  const inDays = (days: number) => new Date(now + days * 86_400_000).toISOString();
  it("warns of what ends soon by a word", () => {
    expect(expiry(inDays(200), now)).toEqual({ state: "fine", text: "200 d left" });
    expect(expiry(inDays(6.5), now)).toEqual({ state: "soon", text: "Soon: 6 d left" });
    expect(expiry(inDays(0.2), now)).toEqual({ state: "soon", text: "Soon: ends today" });
    expect(expiry(inDays(-0.2), now)).toEqual({ state: "expired", text: "Expired today" });
    expect(expiry(inDays(-3.5), now)).toEqual({ state: "expired", text: "Expired 3 d ago" });
  });
  it("says whether a target can be reached, and how fast", () => {
    const row: TargetRow = { ref: { kind: "Target", namespace: "n", name: "t" }, type: "", status: { tone: "unknown", word: "NotLooked" }, runs: [] };
    expect(reach(row).word).toBe("NotLooked");
    expect(reach({ ...row, check: { at: "", reachable: true, milliseconds: 1 } })).toEqual({ tone: "done", word: "Reachable" });
    expect(reach({ ...row, check: { at: "", reachable: false, milliseconds: 1 } })).toEqual({ tone: "failed", word: "Unreachable" });
    expect([latency(14), latency(1400)]).toEqual(["14 ms", "1.4 s, slow"]);
  });
  it("is due at first and each minute", () => expect([isDue(undefined, 5), isDue(5, 60_004), isDue(5, 60_005)]).toEqual([true, false, true]));
});

describe("access", () => {
  it("tells calls that change from those that only look", () => {
    expect(known.filter(changes).every((each) => each.path === "/api/v1/actions")).toBe(true);
    expect(changes({ method: "POST", path: "/api/v1/checks", what: "", rights: [] })).toBe(false);
  });
  it("reads rights however the server writes them", () => {
    const call = (rights: unknown) => rightsOf({ method: "GET", path: "", what: "", rights: rights as string[] });
    expect(call("get on secrets")).toEqual(["get on secrets"]);
    expect(call([{ verb: "list", group: "g.io", resource: "things" }, "get on secrets"])).toEqual(["list on things.g.io", "get on secrets"]);
    expect(call(null)).toEqual([]);
    expect(checkOf("get on secrets")).toBe("kubectl auth can-i get secrets -n NAMESPACE");
    expect(checkOf("get on its kind")).toBeUndefined();
  });
});
