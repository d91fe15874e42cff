// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package alerts evaluates the alerts of config/components/alerts with Prometheus' own engine, over samples for which they must fire and
// samples for which they must not. It is a separate module so that nothing else depends on Prometheus.
package alerts
