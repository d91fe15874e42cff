// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package charts finds the chart that a deploy item names, fetches it and reads it. All connections use the guarded dialer, and all input
// has limits: charts, repositories and their indexes come from users and third parties.
//
// Package repository reads charts in OCI registries and in the resources of components, with the credentials of the item's Context.
package charts
