// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry reports the state of runs to machines: metrics and traces. Its content follows from the status of objects alone. Ended
// and State.Add are pure; the rest passes their results to Prometheus and to OpenTelemetry. No label contains a name that grows with the
// number of installations, and nothing contains a message.
package telemetry
