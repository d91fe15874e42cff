// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

export interface Entry { id: string; text: string; detail: string; icon: string; tone: string }

/**
 * find ranks entries for a text: first names that begin with it, then those with a word that does, then any that contain it. All
 * words must occur.
 */
export function find<T extends Entry>(entries: T[], text: string, most = 40): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries.slice(0, most);
  const scored: { entry: T; score: number; at: number }[] = [];
  entries.forEach((entry, at) => {
    const name = entry.text.toLowerCase();
    const hay = `${name} ${entry.detail.toLowerCase()}`;
    if (!words.every((word) => hay.includes(word))) return;
    const first = words[0] as string;
    const score = name === first ? 0 : name.startsWith(first) ? 1 : new RegExp(`(^|[^a-z0-9])${escape(first)}`).test(name) ? 2 : name.includes(first) ? 3 : 4;
    scored.push({ entry, score, at });
  });
  return scored.sort((a, b) => a.score - b.score || a.at - b.at).slice(0, most).map((each) => each.entry);
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
