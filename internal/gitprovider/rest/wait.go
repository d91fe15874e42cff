// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	defaultWait = time.Minute // GitHub's advice if the response names no delay
	maxWait     = time.Hour   // no server may demand a longer pause
)

// isRateLimit reports whether an error is a rate limit, not a missing right; GitHub responds with 403 to both.
func isRateLimit(answer Answer) bool {
	return answer.Header.Get("Retry-After") != "" || answer.Header.Get("X-RateLimit-Remaining") == "0" ||
		strings.Contains(strings.ToLower(saidBy(answer)), "rate limit")
}

// waitOf returns how long the server demands to wait; zero if it does not.
func waitOf(answer Answer) time.Duration {
	now := nowOf(answer.Header)
	if text := answer.Header.Get("Retry-After"); text != "" {
		if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
			return bounded(time.Duration(seconds) * time.Second)
		}
		if until, err := http.ParseTime(text); err == nil {
			return bounded(until.Sub(now))
		}
	}
	limited := answer.Status == http.StatusTooManyRequests || answer.Status == http.StatusForbidden
	for _, prefix := range []string{"X-RateLimit-", "RateLimit-"} {
		reset, err := strconv.ParseInt(answer.Header.Get(prefix+"Reset"), 10, 64)
		if limited && err == nil && answer.Header.Get(prefix+"Remaining") == "0" {
			return bounded(time.Unix(reset, 0).Sub(now))
		}
	}
	return 0
}

// nowOf prefers the clock of the server, on which its times are based.
func nowOf(header http.Header) time.Time {
	if now, err := http.ParseTime(header.Get("Date")); err == nil {
		return now
	}
	return time.Now()
}

func bounded(wait time.Duration) time.Duration {
	return min(max(wait, time.Second), maxWait)
}
