// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"encoding/binary"
	"encoding/hex"
	"time"
)

// How long to wait before an attempt is repeated: twice as long each time.
const (
	firstRetry = 10 * time.Second
	longestTry = 15 * time.Minute
	// doublings is after how many attempts the longest time is reached for certain.
	doublings = 10
)

// retryAfter is how long to wait after an attempt that failed. It is spread by a fifth in both directions, by a number that
// comes from the key, so that many promotions that fail together do not come back together.
func retryAfter(key string, attempts int32) time.Duration {
	wait := longestTry
	if attempts < doublings {
		wait = min(longestTry, firstRetry<<max(0, attempts-1))
	}
	return wait*4/5 + time.Duration(spread(key, attempts)*float64(wait)*2/5)
}

// spread is a number from 0 to 1.
func spread(key string, attempts int32) float64 {
	sum, _ := hex.DecodeString(digest("retry", key, string(rune('a'+attempts%26)))[:8])
	return float64(binary.BigEndian.Uint32(sum)) / float64(1<<32)
}
