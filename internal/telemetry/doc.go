// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry tells machines how runs are doing: metrics and traces. What it tells follows from the status of objects
// alone. Ended and State.Add are pure; the rest hands their results to Prometheus and to OpenTelemetry. Nothing here
// carries a name that grows with the number of installations into a label, and nothing carries a message.
package telemetry
