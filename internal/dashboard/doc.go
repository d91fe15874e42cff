// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package dashboard is the web page of Espalier: what there is, how it stands, and why.
//
// The page needs no script and asks nobody but this server for anything; its headers
// forbid both. There is no login, so it is served on loopback addresses only, and only
// to requests for a loopback name, because otherwise a web site could point its own name
// at this machine and read along with the visitor's browser.
package dashboard
