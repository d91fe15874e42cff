// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package dashboard is the web page of Espalier: what there is, how it stands, and why.
//
// The page needs no script and asks nobody but this server for anything; its headers
// forbid both. On a loopback address only requests for a loopback name are answered,
// because otherwise a web site could point its own name at this machine and read along
// with the visitor's browser.
package dashboard
