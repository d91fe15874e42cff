// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package poll knows what has become of pull requests, and asks providers as little as it can: one listing per repository, credential and
// interval serves everybody who is interested in any pull request there, and it only tells what changed. Webhooks make it look sooner;
// that it looks anyway is the guarantee.
//
// Asking begins with the first subscription in a repository and ends with the last. Trouble makes it slower: a provider that fails is
// asked in growing intervals, one that says when to come back is obeyed, and each credential has a budget.
//
// Checks of open pull requests are asked for beside that, with what the budget has to spare: at each look while they run, and in growing
// intervals when they do not change. Nothing waits for them, and that they cannot be read is no trouble.
package poll
