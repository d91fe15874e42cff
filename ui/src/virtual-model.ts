// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

/** slice returns which rows of a long list to draw: those on the screen, and some around them. */
export function slice(count: number, rowHeight: number, listTop: number, screenHeight: number, around = 8): { from: number; to: number } {
  if (count === 0 || rowHeight <= 0) return { from: 0, to: 0 };
  const first = Math.floor(-listTop / rowHeight) - around;
  const last = Math.ceil((screenHeight - listTop) / rowHeight) + around;
  const from = Math.min(Math.max(0, first), count);
  return { from, to: Math.max(from, Math.min(count, last)) };
}
