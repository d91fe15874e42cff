// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

/** limit gives a promise some seconds, and then fails with a message. */
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

/** patience is how many seconds something may take on a slow machine; PATIENCE overrides it. */
export const patience = Number(process.env.PATIENCE ?? 180);

/** eventually retries a check until it succeeds; when patience runs out, it fails with the last error. */
export async function eventually(look) {
  for (const end = Date.now() + patience * 1000; ;) {
    try {
      return await look();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
