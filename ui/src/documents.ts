// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Documents of the server in addition to those of the pages.
export type * from "./generated/view";
import type { FieldShift, Gate, Graph, Ref, Request } from "./generated/view";

export interface Me { user: string; groups: string[]; mode: string; version: string; cluster: string; loginWith: string[]; oidcName?: string }
export interface Problem { message: string; since: string }
export interface Preview { text: string; objects: Ref[]; promotion?: PromotionPreview }
/** PromotionPreview contains the effects of a decision about a promotion. */
export interface PromotionPreview {
  environment: string; revision: string; warnings: string[]; targets: TargetShift[]; approvals: string; passed: Gate[]; left: Gate[]; request?: Request;
  changes: FieldShift[]; then: string[];
}
/** TargetShift is what a target runs before and after: the same if nothing changes there. */
export interface TargetShift { cluster?: string; namespace: string; from?: string; to?: string; ready: boolean }
export interface ValueText { value: string; truncated: boolean }
/** Call is a call of the server with the rights that it requires, or a request of the server itself with its own rights. */
export interface Call { path: string; method: string; what: string; rights: string[] | string; server?: boolean }
export interface Parameter { name: string; type: string; schema?: unknown }
export interface Blueprint { name: string; imports: Parameter[]; exports: Parameter[]; graph: Graph; source: string }
export interface Rendered { items: { name: string; yaml: string }[]; message: string }
