// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

import { defineConfig } from "vite";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "dist/site",
    emptyOutDir: true,
    target: ["chrome123", "firefox120", "safari17.5"],
    // A strict content security policy forbids data: addresses and inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8090" } },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
