// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import type { Environment, Gate, PipelineRow, Tone } from "../src/documents";
import { matches, moreWords, pipelineCounts, renewPipelines, searchPipelines, sortPipelines } from "../src/pipelines-model";

function environment(name: string, tone: Tone, more: Partial<Environment> = {}): Environment {
  return { name, status: { tone, word: tone }, revision: "1.0.0", progress: { all: 1, done: 1, running: 0, failed: 0, waiting: 0 }, targets: [], gates: [], actions: [], ...more };
}

function row(name: string, tone: Tone, moving: boolean, environments: Environment[] = []): PipelineRow {
  return { ref: { kind: "Pipeline", namespace: "n", name }, status: { tone, word: tone }, latest: "1.0.0", moving, environments };
}

const gate = (kind: string, state: string): Gate => ({ kind, label: kind, state });

describe("list of pipelines", () => {
  it("counts one that fails and waits for a person under both", () => {
    const both = row("both", "person", true, [environment("dev", "failed"), environment("prod", "done", { coming: "1.0.1", gates: [gate("approval", "others")] })]);
    const broken = row("broken", "waits", true, [environment("prod", "done", { coming: "1.0.1", gates: [gate("health", "failed")] })]);
    expect(pipelineCounts([both, broken, row("calm", "done", false)])).toEqual({ all: 3, failing: 2, approval: 1, moving: 2, rest: 1 });
    expect(matches(row("old", "done", false, [environment("prod", "done", { gates: [gate("health", "failed")] })]), "failing"), "nothing stands at that gate").toBe(false);
  });
  it("finds words of environments and of revisions on their way", () => {
    const rows = [row("a", "done", false, [environment("prod", "done", { coming: "2.0.0" })]), row("b", "done", false, [environment("dev", "done")])];
    expect(searchPipelines(rows, "PROD 2.0").map((each) => each.ref.name)).toEqual(["a"]);
    expect(searchPipelines(rows, "")).toBe(rows);
  });
  it("puts the gravest first, then what moves, then by name", () => {
    const rows = [row("d", "done", false), row("c", "done", true), row("b", "done", true), row("a", "done", true, [environment("dev", "failed")]), row("e", "person", true)];
    expect(sortPipelines(rows).map((each) => each.ref.name)).toEqual(["a", "e", "b", "c", "d"]);
  });
  it("keeps the place of a row that is gone", () => {
    const [a, b] = [row("a", "done", false), row("b", "done", false)];
    expect(renewPipelines([a, b], [row("b", "failed", true)]).map((each) => each.status.word)).toEqual(["Gone", "failed"]);
  });
  it("says how many are not shown", () => {
    expect(moreWords(60)).toEqual({ button: "60 more", rest: "" });
    expect(moreWords(1160)).toEqual({ button: "100 more", rest: "of 1,160 that are not shown" });
  });
});
