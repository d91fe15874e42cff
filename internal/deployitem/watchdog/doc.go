// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package watchdog decides what has to happen to a deploy item whether or not it has a deployer: its time runs out, it
// is deleted without being uninstalled, somebody asks for a job of this item alone, or puts an operation on it that has
// no effect there.
package watchdog
