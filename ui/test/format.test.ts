// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import { age, count, duration, moment, number, progressParts, progressWords, secondsBetween, shortRevision } from "../src/format";

describe("times", () => {
  it.each([[0, "0 s"], [-5, "0 s"], [59, "59 s"], [60, "1 min"], [41 * 60 + 59, "41 min"], [7200, "2 h"], [47 * 3600, "47 h"], [9 * 86400, "9 d"], [2000 * 86400, "2,000 d"]])(
    "age of %d s", (seconds, text) => expect(age(seconds)).toBe(text));
  it.each([[34, "34 s"], [95, "1 min 35 s"], [120, "2 min"], [650, "10 min 50 s"], [3600, "1 h"], [88860, "24 h 41 min"], [352800, "4 d 2 h"]])(
    "duration of %d s", (seconds, text) => expect(duration(seconds)).toBe(text));
  it("does not trip over times that cannot be read", () => {
    expect(secondsBetween("nonsense", "2026-01-01T00:00:00Z")).toBe(0);
    expect(moment("nonsense", 0)).toBe("");
  });
  it("gives the weekday within a week and the date after it", () => {
    const now = new Date(2026, 10, 17, 14, 0);
    expect(moment(new Date(2026, 10, 17, 9, 5), now)).toBe("09:05");
    expect(moment(new Date(2026, 10, 13, 16, 22), now)).toBe("Fri 16:22");
    expect(moment(new Date(2026, 10, 3, 1, 0), now)).toBe("3 Nov");
    expect(moment(new Date(2024, 10, 3, 1, 0), now)).toBe("3 Nov 2024");
  });
});

describe("counts", () => {
  it("has words for one and many", () => {
    expect([count(1, "object"), count(2, "object"), number(10000)]).toEqual(["1 object", "2 objects", "10,000"]);
  });
  it("says what a bar shows", () => {
    expect(progressWords({ all: 13, done: 9, running: 0, failed: 1, waiting: 3 })).toBe("9 of 13 done, 1 failed, 3 wait");
    expect(progressWords({ all: 0, done: 0, running: 0, failed: 0, waiting: 0 })).toBe("no deploy items");
  });
  it("cuts a bar into parts that stay inside of it, in order", () => {
    const parts = progressParts({ all: 13, done: 9, running: 1, failed: 1, waiting: 2 });
    expect(parts.map((part) => part.state)).toEqual(["done", "running", "failed", "waiting"]);
    parts.forEach((part, i) => expect(part.x + part.width).toBeLessThanOrEqual((parts[i + 1]?.x ?? 100.001)));
    expect(progressParts({ all: 2, done: 5, running: 0, failed: 0, waiting: 0 })[0]).toEqual({ state: "done", x: 0, width: 100 });
  });
});

it("cuts Git revisions to seven digits and leaves others", () => {
  expect(shortRevision("main@sha1:4f0c9a1b2c3d4e5f60718293a4b5c6d7e8f90123")).toBe("main@4f0c9a1");
  expect(shortRevision("1.8.2")).toBe("1.8.2");
});
