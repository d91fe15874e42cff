// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package deployer is the contract between deploy items and whatever deploys them, written once: pick-up, the job that
// an item takes part in, timeouts, exports, deletion. A deployer of one type implements [Deployer]; the deployers of
// this project are in the packages below this one.
package deployer
