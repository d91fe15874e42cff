// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

// FinishedIn is what EventuallyFinished waits for.
var FinishedIn = finishedIn
