// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

/** Refusal is an answer of the server other than yes. Command is what shows the missing right; the others say how to log in. */
export class Refusal extends Error {
  constructor(readonly status: number, message: string, readonly command = "", readonly loginWith?: string[], readonly oidcName = "") {
    super(message);
  }
}
