// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import { Announcer, apart } from "../src/announce-model";
import { Keyboard, moveIn } from "../src/keys";
import { find } from "../src/palette-model";
import { slice } from "../src/virtual-model";

const press = (key: string, more: Partial<Parameters<Keyboard["press"]>[0]> = {}) => ({ key, ctrl: false, meta: false, alt: false, typing: false, at: 0, ...more });

describe("keys", () => {
  it.each([["?", "help"], ["/", "filter"], ["n", "next"], ["p", "previous"], ["w", "why"], ["v", "values"], ["c", "copy-command"], ["y", "copy-link"], ["r", "reconcile"], ["a", "approval"], ["1", "tab-1"], ["4", "tab-4"], ["G", "group"], ["5", undefined], ["toString", undefined]])(
    "%s", (key, command) => expect(new Keyboard().press(press(key))).toBe(command));
  it("knows keys after g for a moment", () => {
    const keyboard = new Keyboard();
    expect(keyboard.press(press("g", { at: 0 }))).toBeUndefined();
    expect(keyboard.press(press("p", { at: 500 }))).toBe("go-pipelines");
    expect(keyboard.press(press("p", { at: 600 }))).toBe("previous");
    keyboard.press(press("g", { at: 1000 }));
    expect(keyboard.press(press("p", { at: 9000 }))).toBe("previous");
    keyboard.press(press("g", { at: 10_000 }));
    expect(keyboard.press(press("o", { at: 10_100 }))).toBe("go-overview");
  });
  it("leaves single keys to fields, and to those who have switched them off", () => {
    const keyboard = new Keyboard();
    expect(keyboard.press(press("n", { typing: true }))).toBeUndefined();
    expect(keyboard.press(press("k", { typing: true, ctrl: true }))).toBe("palette");
    expect(keyboard.press(press("r", { ctrl: true }))).toBeUndefined();
    keyboard.singles = false;
    expect(keyboard.press(press("n"))).toBeUndefined();
    expect(keyboard.press(press("K", { meta: true }))).toBe("palette");
    expect(keyboard.press(press("Escape"))).toBe("escape");
  });
  it("moves in a list and stays in it", () => {
    expect([moveIn("ArrowDown", 9, 10, 5), moveIn("ArrowUp", 0, 10, 5), moveIn("PageDown", 2, 10, 5), moveIn("Home", 7, 10, 5), moveIn("End", 0, 10, 5), moveIn("x", 0, 10, 5), moveIn("End", 0, 0, 5)]).toEqual([9, 0, 7, 0, 9, undefined, undefined]);
  });
});

describe("announcer", () => {
  it("says the gravest first, and one sentence in five seconds", () => {
    const announcer = new Announcer();
    announcer.add({ text: "copied", gravity: 5 });
    announcer.add({ text: "payments failed", gravity: 0 });
    expect(announcer.take(0)).toBe("payments failed");
    announcer.add({ text: "later", gravity: 5 });
    expect(announcer.take(apart - 1)).toBeUndefined();
    expect(announcer.take(apart)).toBe("later");
    expect(announcer.take(apart * 9)).toBeUndefined();
  });
});

describe("palette", () => {
  const entry = (text: string, detail = "") => ({ id: text, text, detail, icon: "", tone: "" });
  const all = [entry("web-shop"), entry("workshop"), entry("shop"), entry("mail", "Installation in shop"), entry("shop-eu")];
  it("ranks names before words before details", () => expect(find(all, "shop").map((each) => each.text)).toEqual(["shop", "shop-eu", "web-shop", "workshop", "mail"]));
  it("takes signs as they are", () => expect(find(all, ".*(")).toEqual([]));
});

describe("virtual rows", () => {
  it("draws what is on the screen, and some around it", () => {
    expect(slice(10_000, 36, 0, 900)).toEqual({ from: 0, to: 33 });
    expect(slice(10_000, 36, -36_000, 900)).toEqual({ from: 992, to: 1033 });
    expect(slice(10_000, 36, 5000, 900)).toEqual({ from: 0, to: 0 });
    expect(slice(3, 36, -1e9, 900)).toEqual({ from: 3, to: 3 });
    expect(slice(0, 36, 0, 900)).toEqual({ from: 0, to: 0 });
  });
});
