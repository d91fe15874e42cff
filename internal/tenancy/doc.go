// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package tenancy lets the controllers do the work of a namespace with the rights of one of its service accounts, and not with their own.
//
// In strict tenancy, the loop marks the context of each pass with the tenant of the object: the service account that the object's Context
// names. Requests to the API server carry that context, and a transport below all clients makes those that are the tenant's work
// impersonate the account. So it is the API server that decides what a tenant may have done, and no controller has rules of its own.
//
// What is read from a cache never reaches the API server. Where that would hand a tenant what its account may not read, whoever reads
// asks MayGet first.
//
// Without a mark nothing happens: in shared tenancy there is none, and no request is added or changed. docs/tenancy.md says what is done
// as whom.
package tenancy
