// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Where the documentation explains an error, on any page.
import { safeAddress } from "./gate-model";

/** Explained leads to the section that explains an error: by a link if the documentation is published, or else by its path. */
export function Explained({ at }: { at: string | undefined }) {
  if (!at) return null;
  const address = safeAddress(at);
  return <small class="explained any">{address ? <a class="link" href={address} target="_blank" rel="noreferrer">What this error means</a> : <>See <code>{at}</code></>}</small>;
}
