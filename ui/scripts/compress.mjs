// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Writes a compressed twin beside every built file, and fails if the pages have become too heavy or would break the content security policy.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const limit = 250_000;
const site = new URL("../dist/site", import.meta.url).pathname;

let total = 0;
for (const entry of readdirSync(site, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || entry.name.endsWith(".gz")) continue;
  const path = join(entry.parentPath ?? entry.path, entry.name);
  const small = gzipSync(readFileSync(path), { level: 9 });
  writeFileSync(`${path}.gz`, small);
  total += small.length;
  console.log(`${String(small.length).padStart(8)}  ${path.slice(site.length + 1)}`);
}
console.log(`${String(total).padStart(8)}  in all, of ${limit} at most`);

const page = readFileSync(join(site, "index.html"), "utf8");
const inline = /<script(?![^>]*\bsrc=)[^>]*>|<style|\sstyle=|\son[a-z]+=/i.exec(page);
if (inline) {
  console.error(`index.html has something inline, which the content security policy forbids: ${inline[0]}`);
  process.exit(1);
}
if (total > limit) {
  console.error(`the pages weigh ${total} bytes compressed, more than ${limit}: take something out`);
  process.exit(1);
}
