// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package rest is a client for the REST APIs of Git servers. It is independent of the provider, and guarantees for all of them:
//
//   - a response is read up to a limit, and a request ends after a bounded time;
//   - a redirect is only followed for reads, and only to the same host, so that credentials stay where they belong;
//   - every connection obeys the rules of package dial, and trusts the CAs of the Secret if it names some;
//   - an error has a class, contains the server's retry delay if there is one, and never contains a token, even if the server echoes it.
package rest
