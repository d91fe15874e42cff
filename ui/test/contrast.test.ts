// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// The colours must have the contrast that the design promises: 4.5 for text, 3 for what carries meaning.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const css = readFileSync(new URL("../src/style/tokens.css", import.meta.url), "utf8");
const tokens = new Map([...css.matchAll(/--([a-z0-9-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)/g)].map((m) => [m[1]!, [m[2]!, m[3]!]] as const));

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const c = parseInt(colour.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function ratio(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

function of(name: string, theme: number): string {
  const found = tokens.get(name);
  if (!found) throw new Error(`tokens.css has no --${name}`);
  return found[theme] as string;
}

const states = ["failed", "you", "waiting", "running", "done", "idle"];
const text: [string, string][] = [
  ["text", "canvas"], ["text", "surface"], ["text-2", "canvas"], ["text-2", "surface"], ["text-3", "canvas"], ["text-3", "surface"], ["text-3", "sunken"], ["text-3", "selected"],
  ["text-2", "selected"], ["text-3", "hover"], ["text-3", "raised"], ["on-ink", "ink"], ["on-you", "you-solid"], ["add-fg", "add-bg"], ["del-fg", "del-bg"],
  ...states.flatMap((s): [string, string][] => [[`${s}-fg`, `${s}-bg`], [`${s}-fg`, "surface"], [`${s}-fg`, "canvas"]]),
];
const graphics: [string, string][] = [
  ["control", "surface"], ["edge", "surface"], ["focus", "surface"], ["focus", "canvas"], ...states.map((s): [string, string] => [`${s}-solid`, "surface"]),
];

describe.each([["light", 0], ["dark", 1]] as const)("%s", (_, theme) => {
  it.each(text)("text %s on %s", (on, ground) => expect(ratio(of(on, theme), of(ground, theme))).toBeGreaterThanOrEqual(4.5));
  it.each(graphics)("graphics %s on %s", (on, ground) => expect(ratio(of(on, theme), of(ground, theme))).toBeGreaterThanOrEqual(3));
});

it("computes the ratios of the design", () => {
  expect(ratio("#000000", "#ffffff")).toBeCloseTo(21, 5);
  expect(ratio(of("text", 0), of("canvas", 0))).toBeCloseTo(16.2, 1);
  expect(ratio(of("text-3", 1), of("selected", 1))).toBeCloseTo(4.8, 1);
});
