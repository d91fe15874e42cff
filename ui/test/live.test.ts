// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import { byObject, holding, leadOf, safeAddress } from "../src/gate-model";
import { backoff, next, type LiveState } from "../src/live";
import { pageOf } from "../src/refs";
import { nextPage, parse } from "../src/route-model";
import { grave, gravest, shape } from "../src/tone";

describe("stream", () => {
  const fresh: LiveState<number> = { phase: "opening" };
  it("goes live with a snapshot, and changes it", () => {
    const live = next(fresh, { type: "snapshot", doc: 1, at: 5 });
    expect(live).toEqual({ phase: "live", doc: 1, at: 5 });
    expect(next(live, { type: "change", apply: (n) => n + 1, at: 6 })).toEqual({ phase: "live", doc: 2, at: 6 });
  });
  it("takes no change before a snapshot", () => expect(next(fresh, { type: "change", apply: (n) => n + 1, at: 6 })).toBe(fresh));
  it("keeps the document while it is lost, and the time at which it was lost first", () => {
    let state = next(fresh, { type: "snapshot", doc: 1, at: 5 });
    state = next(state, { type: "lost", at: 10, retryAt: 11 });
    expect(state).toMatchObject({ phase: "lost", doc: 1, since: 10, retryAt: 11 });
    state = next(next(state, { type: "retry" }), { type: "lost", at: 20, retryAt: 22 });
    expect(state).toMatchObject({ phase: "lost", since: 10, retryAt: 22 });
    expect(next(state, { type: "snapshot", doc: 2, at: 30 })).toEqual({ phase: "live", doc: 2, at: 30 });
  });
  it("catches up after a pause", () => {
    const paused = next(next(fresh, { type: "snapshot", doc: 1, at: 5 }), { type: "pause" });
    expect(paused.phase).toBe("paused");
    expect(next(paused, { type: "retry" }).phase).toBe("catching-up");
  });
  it("shows a problem until the cluster can be read again; beats do not end it", () => {
    const problem = next(next(fresh, { type: "snapshot", doc: 1, at: 5 }), { type: "problem", problem: { message: "no", since: "" }, at: 6 });
    expect(next(problem, { type: "beat", at: 7 }).problem).toEqual({ message: "no", since: "" });
    expect(next(problem, { type: "snapshot", doc: 1, at: 8 }).problem).toBeUndefined();
  });
  it("waits longer each time, up to a limit", () => {
    expect([0, 1, 2, 3, 9, 99].map((attempt) => backoff(attempt, 0.5))).toEqual([1000, 2000, 4000, 8000, 30_000, 30_000]);
    expect(backoff(0, 0)).toBeLessThan(backoff(0, 1));
  });
});

describe("addresses", () => {
  it("knows its pages", () => {
    expect(parse("/")).toEqual({ page: "overview" });
    expect(parse("/installations/a/b%2Fc")).toEqual({ page: "installation", namespace: "a", name: "b/c" });
    expect(parse("/targets/")).toEqual({ page: "targets" });
    expect(parse("/%E0%A4%A")).toEqual({ page: "nowhere", path: "/%E0%A4%A" });
  });
  it("makes addresses of objects", () => {
    expect(pageOf({ kind: "Installation", namespace: "a", name: "../b" })).toBe("/installations/a/..%2Fb");
    expect(pageOf({ kind: "Secret", namespace: "a", name: "b" })).toBeUndefined();
  });
  it.each([["/targets", "/targets"], ["//evil.example", "/"], ["/\\evil.example", "/"], ["https://evil.example", "/"], ["javascript:alert(1)", "/"], ["/login?next=/login", "/"]])(
    "after the login %s leads to %s", (wanted, page) => expect(nextPage(wanted)).toBe(page));
  it("lets only addresses of the web through", () => {
    expect(safeAddress("javascript:alert(1)")).toBeUndefined();
    expect(safeAddress("https://git.example/1")).toBe("https://git.example/1");
  });
});

describe("states", () => {
  it("has the gravest", () => {
    expect(gravest(["done", "works", "failed", "waits"])).toBe("failed");
    expect(gravest([])).toBe("done");
    expect(grave("person")).toBeLessThan(grave("waits"));
  });
  it("fills the pie while work goes on", () => expect(["Init", "ObjectsCreated", "Progressing", "Completing"].map((word) => shape({ tone: "works", word }))).toEqual(["init", "created", "progressing", "completing"]));
  it("tells who was rejected from who is held", () => expect([shape({ tone: "stopped", word: "Rejected" }), shape({ tone: "stopped", word: "Held" })]).toEqual(["rejected", "held"]));
});

describe("pipelines", () => {
  const gate = (state: string) => ({ kind: "soak", label: state, state });
  it("stands at the gravest gate", () => {
    expect(holding([gate("passed"), gate("counting"), gate("yours")])?.state).toBe("yours");
    expect(holding([gate("passed"), gate("not-reached")])).toBeUndefined();
  });
  it("gathers changes by object", () => expect(byObject([{ object: "a", field: "x", after: "1" }, { object: "b", field: "x", after: "1" }, { object: "a", field: "y", after: "1" }]).map((each) => [each.name, each.shifts.length])).toEqual([["a", 2], ["b", 1]]));
  it("has a lead time once a revision has arrived", () => {
    const marks = [{ environment: "dev", tone: "done" as const, time: "2026-01-01T00:00:00Z" }, { environment: "prod", tone: "done" as const, time: "2026-01-01T01:00:00Z" }];
    expect(leadOf({ revision: "1", ended: "arrived", marks })).toBe(3600);
    expect(leadOf({ revision: "1", ended: "moving", marks })).toBeUndefined();
  });
});
