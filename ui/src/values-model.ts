// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Types and defaults of imports and exports whose blueprint is outside the cluster. All of it is pure.
import type { Asked } from "./asked";
import type { Declared, NamedType, Row, Value } from "./documents";

/** typed returns the values of a row with the types that the blueprint declares, and the imports that have a default. */
export function typed(row: Row, declared: Declared | undefined): { imports: Value[]; exports: Value[] } {
  if (!declared) return { imports: row.imports, exports: row.exports };
  const withType = (types: NamedType[]) => (value: Value): Value => {
    const type = value.type || types.find((each) => each.name === baseOf(value.name))?.type;
    return type ? { ...value, type } : value;
  };
  const imports = row.imports.map(withType(declared.imports));
  const named = new Set(imports.map((value) => baseOf(value.name)));
  return { imports: [...imports, ...declared.defaults.filter((value) => !named.has(value.name))], exports: row.exports.map(withType(declared.exports)) };
}

/** baseOf returns the import to which an element of a list or map of targets belongs. */
function baseOf(name: string): string {
  return name.replace(/\[.*$/, "");
}

/** typesNote says why types are not shown, and nothing if they are. */
export function typesNote(asked: Asked<Declared> | undefined): string {
  if (asked?.refused) return `Types and defaults are not shown. ${asked.refused.message}`;
  if (asked?.answer?.message) return `Types and defaults are not shown. ${asked.answer.message}`;
  return asked?.answer ? "" : "Types and defaults are being read.";
}
