// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/binary"
	"encoding/hex"
	"time"
)

// Bounds of the delay between attempts, which doubles with each attempt.
const (
	firstRetry = 10 * time.Second
	longestTry = 15 * time.Minute
	// doublings is the number of attempts after which the delay has reached its maximum.
	doublings = 10
)

// retryAfter returns the delay after a failed attempt. Jitter of a fifth in either direction, derived from the key, keeps promotions that
// fail together from retrying together.
func retryAfter(key string, attempts int32) time.Duration {
	wait := longestTry
	if attempts < doublings {
		wait = min(longestTry, firstRetry<<max(0, attempts-1))
	}
	return wait*4/5 + time.Duration(spread(key, attempts)*float64(wait)*2/5)
}

// spread returns a number from 0 to 1.
func spread(key string, attempts int32) float64 {
	sum, _ := hex.DecodeString(digest("retry", key, string(rune('a'+attempts%26)))[:8])
	return float64(binary.BigEndian.Uint32(sum)) / float64(1<<32)
}
