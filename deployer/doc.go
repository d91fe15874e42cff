// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package deployer is the contract between deploy items and deployers, written once: pick-up, the job that
// an item takes part in, timeouts, exports, deletion. A deployer of one type implements [Deployer],
// and [Setup] adds it to a manager of controller-runtime.
//
// It is the one package of this module, beside those of espalier.dev/api, that others may import.
package deployer
