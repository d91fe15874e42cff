// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package canary plants values in Secrets, Targets and credentials, lets everything go wrong that can, and searches all that
// people and machines can read for them: status, events, logs at all levels, metrics, traces, the output of commands and the
// documents of the web UI.
package canary
