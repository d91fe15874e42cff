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

/** patience is how many seconds something may take on a slow machine; PATIENCE says otherwise. */
export const patience = Number(process.env.PATIENCE ?? 180);

/** eventually looks again and again until a look finds nothing wrong; when patience has come to an end, its last complaint counts. */
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
