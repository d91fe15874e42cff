// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from "vitest";
import { Explained } from "../src/explained";

/** parts returns the tags, addresses and texts of what is drawn. */
function parts(drawn: unknown): string[] {
  if (drawn === null || drawn === undefined || drawn === false) return [];
  if (Array.isArray(drawn)) return drawn.flatMap(parts);
  if (typeof drawn !== "object") return [String(drawn)];
  const { type, props } = drawn as { type: unknown; props: { href?: string; rel?: string; children?: unknown } };
  return [...(typeof type === "string" ? [type] : []), ...(props.href ? [props.href, props.rel ?? ""] : []), ...parts(props.children)];
}

describe("explanations of errors", () => {
  it("are links if the documentation is published", () => {
    const address = "https://docs.example.org/docs/reference/errors.html#podlost";
    expect(parts(Explained({ at: address }))).toEqual(["small", "a", address, "noreferrer", "What this error means"]);
  });
  it("are paths otherwise, and never run", () => {
    expect(parts(Explained({ at: "docs/reference/errors.md#podlost" }))).toEqual(["small", "See ", "code", "docs/reference/errors.md#podlost"]);
    expect(parts(Explained({ at: "javascript:alert(1)" }))).not.toContain("a");
  });
  it("are left out if there is no error", () => {
    expect(Explained({ at: undefined })).toBeNull();
  });
});
