// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Where revisions are in a pipeline, and where they came from. All of it is pure.
import type { Environment } from "./documents";

/** Spot is a place in a pipeline: the gates before an environment, or the environment itself. */
export interface Spot { id: string; revision: string }

/** spots returns the places of a pipeline that hold a revision, in order. */
export function spots(environments: Environment[]): Spot[] {
  return environments.flatMap((env) => [
    ...(env.coming ? [{ id: gateSpot(env.name), revision: env.coming }] : []), ...(env.revision ? [{ id: cardSpot(env.name), revision: env.revision }] : []),
  ]);
}

export const gateSpot = (environment: string) => `gate/${environment}`;
export const cardSpot = (environment: string) => `card/${environment}`;

/** moves returns which revisions are in a new place, and the last earlier place from which each came. */
export function moves(before: Spot[], after: Spot[], environments: string[]): { from: string; to: string }[] {
  const order = environments.flatMap((name) => [gateSpot(name), cardSpot(name)]);
  const was = new Set(before.map((spot) => `${spot.id} ${spot.revision}`));
  return after.flatMap((spot) => {
    if (was.has(`${spot.id} ${spot.revision}`)) return [];
    const earlier = before.filter((each) => each.revision === spot.revision && order.indexOf(each.id) >= 0 && order.indexOf(each.id) < order.indexOf(spot.id));
    const from = earlier.reduce<Spot | undefined>((a, b) => (a && order.indexOf(a.id) > order.indexOf(b.id) ? a : b), undefined);
    return from ? [{ from: from.id, to: spot.id }] : [];
  });
}
