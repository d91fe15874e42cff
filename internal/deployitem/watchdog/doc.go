// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package watchdog decides what must happen to a deploy item whether or not it has a deployer: it times out; it is deleted without being
// uninstalled; a user requests a job of this item alone, or an operation that has no effect on deploy items.
package watchdog
