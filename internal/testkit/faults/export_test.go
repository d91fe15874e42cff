// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import "time"

// SetMaxHold lets a test distinguish a hold that ends with its write from one that ends by time.
func (t *Transport) SetMaxHold(limit time.Duration) { t.maxHold = limit }
