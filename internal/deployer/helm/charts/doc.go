// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package charts finds the chart that a deploy item names, fetches it and reads it. Everything goes out through the guarded
// dialer, and everything that comes in has limits: charts, repositories and their indexes are written by users and by
// strangers.
//
// Charts in OCI registries and among the resources of components are read by package repository, with the credentials of the
// item's Context.
package charts
