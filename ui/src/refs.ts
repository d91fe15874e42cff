// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import type { Ref } from "./documents";

/** key returns the key of an object in maps. */
export function key(ref: Ref): string {
  return `${ref.kind}/${ref.namespace}/${ref.name}`;
}

const pages: Record<string, string> = { Installation: "installations", Pipeline: "pipelines" };

/** pageOf returns the address of the page of an object, or of the page that shows it; undefined if there is none. */
export function pageOf(ref: Ref): string | undefined {
  const page = pages[ref.kind];
  if (page) return `/${page}/${encodeURIComponent(ref.namespace)}/${encodeURIComponent(ref.name)}`;
  if (ref.kind === "Target") return `/targets?q=${encodeURIComponent(ref.name)}`;
  return undefined;
}
