// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// MinHashKey is the least number of bytes of a Hasher's key.
const MinHashKey = 32

// Hasher computes hashes that stand in a status. They have a key, so that nobody can guess a value by trying: passwords
// and ports have few possibilities.
type Hasher struct{ key []byte }

// NewHasher returns a hasher with a secret key. It has to be the same key for as long as hashes are to be compared.
func NewHasher(key []byte) (Hasher, error) {
	if len(key) < MinHashKey {
		return Hasher{}, errors.New("the key for the hashes of imports is too short: it must have at least 32 random bytes")
	}
	return Hasher{key: key}, nil
}

// Hashes of imports. Equal imports have equal hashes, in whatever order maps were read.
type Hashes struct {
	// All covers all imports, ByImport each of them by name.
	All      string
	ByImport map[string]string
}

// Hash returns the hashes of an installation's imports: of data its value, of targets everything that a template or
// deployer can see of them, their Secrets included.
func (h Hasher) Hash(resolved Resolved) Hashes {
	hashes := Hashes{ByImport: make(map[string]string, len(resolved))}
	var all []any
	for _, name := range sorted(maps.Keys(resolved)) {
		hashes.ByImport[name] = h.sum("import", resolved[name].hashed())
		all = append(all, []any{name, hashes.ByImport[name]})
	}
	hashes.All = h.sum("imports", all)
	return hashes
}

// Seed returns bytes that nobody can guess who does not know the key, always the same for a purpose.
func (h Hasher) Seed(purpose string) []byte { return []byte(h.sum("seed", purpose)) }

// IsHash reports whether a text was written by a Hasher. A status may hold hashes that an earlier controller of this API has
// computed in another way: they say nothing about whether imports have changed.
func IsHash(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size
}

// sum hashes the JSON form of a value, in which the keys of objects are sorted. The purpose keeps the hashes of
// different things apart.
func (h Hasher) sum(purpose string, value any) string {
	text, err := json.Marshal([]any{purpose, value})
	if err != nil {
		// Only values that were decoded from JSON, and bytes, come here.
		text = []byte(purpose)
	}
	mac := hmac.New(sha256.New, h.key)
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil))
}

func (i Import) hashed() any {
	if i.Type == lsv1alpha1.ImportTypeData {
		return []any{i.Type, i.Data}
	}
	targets := make([]any, 0, len(i.Targets))
	for _, target := range i.Targets {
		targets = append(targets, target.hashed())
	}
	return []any{i.Type, targets}
}

// hashed covers what makes a Target what it is, and not which object it is read from: a nested installation sees the
// same target as its parent.
func (t Target) hashed() any {
	return map[string]any{
		"key":         t.Key,
		"type":        t.Spec.Type,
		"config":      t.config(),
		"secretRef":   t.Spec.SecretRef,
		"secret":      t.referredSecret(),
		"labels":      ownMetadata(t.Labels),
		"annotations": ownMetadata(t.Annotations),
	}
}

// config is decoded, so that spaces and the order of keys do not count.
func (t Target) config() any {
	if t.Spec.Configuration == nil {
		return nil
	}
	value, err := decodeJSON(t.Spec.Configuration.Raw)
	if err != nil {
		return string(t.Spec.Configuration.Raw)
	}
	return value
}

// referredSecret is the part of the Secret that the Target refers to; nil if it is not there.
func (t Target) referredSecret() any {
	if t.Spec.SecretRef == nil || t.Secret == nil {
		return nil
	}
	if t.Spec.SecretRef.Key == "" {
		return t.Secret
	}
	value, ok := t.Secret[t.Spec.SecretRef.Key]
	if !ok {
		return nil
	}
	return value
}
