// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import type { RequestChecks } from "../src/documents";
import { checksWords, requestWords, shiftWords } from "../src/gate-model";

const checks = (state: string, more: Partial<RequestChecks> = {}): RequestChecks => ({ state, total: 0, passed: 0, failed: 0, running: 0, failedNames: [], ...more });

describe("pull requests", () => {
  it("have a number and a state", () => {
    expect(requestWords({ number: 12, state: "merged", by: "user" })).toEqual({ name: "#12", state: "merged by user" });
    expect(requestWords({})).toEqual({ name: "Pull request", state: "" });
  });
  it("say of their checks how they are doing, in words and by a shape", () => {
    expect(checksWords(checks("passed", { total: 1, passed: 1 }))).toEqual({ icon: "done", tone: "s-done", text: "1 check passed" });
    expect(checksWords(checks("running", { total: 1200, passed: 3, running: 1197 }))).toEqual({ icon: "progressing", tone: "s-running", text: "Checks running, 3 of 1,200 passed" });
    expect(checksWords(checks("failed", { failed: 2, failedNames: ["build", "lint"] }))).toEqual({ icon: "failed", tone: "s-failed", text: "Checks failed: build, lint" });
    expect(checksWords(checks("failed", { failed: 7, failedNames: ["a", "b"], running: 2 })).text).toBe("Checks failed: a, b, 5 more; 2 still running");
    expect(checksWords(checks("failed", { failed: 2 })).text).toBe("2 checks failed");
  });
});

describe("previews of decisions", () => {
  it("say what each target runs and would run", () => {
    expect(shiftWords({ namespace: "n", from: "1.0.0", to: "1.1.0", ready: true })).toBe("1.0.0 → 1.1.0");
    expect(shiftWords({ namespace: "n", to: "1.1.0", ready: false })).toBe("nothing → 1.1.0, not ready now");
    expect(shiftWords({ namespace: "n", from: "1.0.0", to: "1.0.0", ready: true })).toBe("stays at 1.0.0");
    expect(shiftWords({ namespace: "n", ready: true })).toBe("stays at nothing");
  });
});
