// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package tenancy lets the controllers work in a namespace with the rights of one of its service accounts instead of their own.
//
// In strict tenancy, the loop marks the context of each pass with the tenant of the object: the service account that the object's Context
// names. Requests to the API server carry that context, and a transport below all clients makes the requests for the tenant's work
// impersonate the service account. So the API server decides what a tenant may do, and controllers have no rules for it.
//
// Reads from a cache never reach the API server. Where a tenant could thus get content that its service account may not read, the reader
// calls MayGet first.
//
// Without a mark nothing changes: in shared tenancy there is none, and no request is added or changed. docs/tenancy.md describes what is
// done as whom.
package tenancy
