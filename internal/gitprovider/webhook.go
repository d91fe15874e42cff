// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
)

// Event is the content of a webhook call: a change of this pull request, or of the checks of this commit. It is only a hint to
// poll sooner.
type Event struct {
	// Repository of the pull request. The host is empty if the provider does not send it.
	Repository Repository
	// Number of the pull request; zero if the event is about a commit and names none.
	Number int64
	// Commit whose checks changed; empty if the event is about the pull request itself.
	Commit string
}

var (
	// ErrUnsigned means that a webhook call does not prove that it comes from the provider. Its content must not be trusted.
	ErrUnsigned = errors.New("the call is not signed with the secret of the webhook")
	// ErrIgnored means that a call is authentic but concerns neither a pull request nor checks, for example a test of the webhook.
	ErrIgnored = errors.New("the call is not about a pull request")
	// ErrUnreadable means that a call is authentic and cannot be parsed.
	ErrUnreadable = errors.New("the body of the call does not have the documented form")
)

// SignedBy reports whether signature is the HMAC-SHA256 of the body, in hexadecimal digits. It is always false for an empty secret.
func SignedBy(secret, body []byte, signature string) bool {
	given, err := hex.DecodeString(signature)
	if err != nil || len(secret) == 0 {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil))
}

// SameSecret compares in a time that depends only on lengths. It is always false for an empty secret.
func SameSecret(secret []byte, given string) bool {
	return len(secret) > 0 && subtle.ConstantTimeCompare(secret, []byte(given)) == 1
}

// NewEvent builds an event from the URL of the repository's page and the number of the pull request.
func NewEvent(page string, number int64, identify func(Address) (Repository, error)) (Event, error) {
	// Nothing is dialled here, so a provider that uses http for its own URLs is acceptable.
	address, err := parseAddress(page, func(string) bool { return true })
	if err != nil || number <= 0 {
		return Event{}, ErrUnreadable
	}
	repository, err := identify(address)
	if err != nil {
		return Event{}, ErrUnreadable
	}
	return Event{Repository: repository, Number: number}, nil
}

// NewChecksEvent builds an event from the URL of the repository's page and the commit whose checks changed.
func NewChecksEvent(page, commit string, identify func(Address) (Repository, error)) (Event, error) {
	event, err := NewEvent(page, 1, identify)
	if err != nil || !isCommit(commit) {
		return Event{}, ErrUnreadable
	}
	return Event{Repository: event.Repository, Commit: commit}, nil
}

// isCommit reports whether a text is a commit hash, SHA-1 or SHA-256.
func isCommit(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && (len(text) == 40 || len(text) == 64)
}
