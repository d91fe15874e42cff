// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package deployitems runs the watchdog of deploy items: timeouts, deletion without uninstallation, and jobs of single
// items. It covers the items of all deployers, and runs in the process that runs executions.
package deployitems
