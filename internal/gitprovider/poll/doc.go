// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package poll follows the state of pull requests with as few requests to providers as possible: one listing per repository, credential and
// interval serves all subscribers of any pull request there, and only changes are reported. Webhooks trigger an earlier poll, but are not
// required.
//
// Polling starts with the first subscription in a repository and ends with the last. Errors slow it down: a provider that fails is retried
// with backoff, one that names a time is retried then, and each credential has a budget.
//
// Checks of open pull requests are polled separately, with the rest of the budget: at each poll while they run, and with backoff when
// they do not change. Nothing waits for them, and a failure to read them is not an error.
package poll
