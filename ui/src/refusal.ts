// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

/** Refusal is an unsuccessful answer of the server. Command shows the missing right; the other fields say how to log in. */
export class Refusal extends Error {
  constructor(readonly status: number, message: string, readonly command = "", readonly loginWith?: string[], readonly oidcName = "") {
    super(message);
  }
}
