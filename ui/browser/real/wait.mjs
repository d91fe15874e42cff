// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

/** limit gives a promise some seconds, and then fails with the words of what. */
export async function limit(seconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`after ${seconds} s: ${what()}`)), seconds * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** patience is how many seconds something may take on a slow machine. */
export const patience = 180;
