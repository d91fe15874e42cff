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

// MinHashKey is the minimum number of bytes of a Hasher's key.
const MinHashKey = 32

// Hasher computes hashes for use in a status. They are keyed, so that a value cannot be guessed by trying: passwords and ports have few
// possible values.
type Hasher struct{ key []byte }

// NewHasher returns a hasher with a secret key. The key must stay the same for as long as hashes are compared.
func NewHasher(key []byte) (Hasher, error) {
	if len(key) < MinHashKey {
		return Hasher{}, errors.New("the key for the hashes of imports is too short: it must have at least 32 random bytes")
	}
	return Hasher{key: key}, nil
}

// Hashes are the hashes of imports. Equal imports have equal hashes, regardless of the order of maps.
type Hashes struct {
	// All covers all imports, ByImport each of them by name.
	All      string
	ByImport map[string]string
}

// Hash returns the hashes of an installation's imports: for data, of its value; for targets, of everything that a template or deployer can
// read of them, including their Secrets.
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

// Seed returns deterministic bytes for a purpose that cannot be guessed without the key.
func (h Hasher) Seed(purpose string) []byte { return []byte(h.sum("seed", purpose)) }

// IsHash reports whether a text was written by a Hasher. A status may contain hashes that an earlier controller of this API has computed
// differently: such hashes do not show whether imports have changed.
func IsHash(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size
}

// sum hashes the JSON form of a value, in which object keys are sorted. The purpose separates the hashes of different things.
func (h Hasher) sum(purpose string, value any) string {
	text, err := json.Marshal([]any{purpose, value})
	if err != nil {
		// All values were decoded from JSON, or are bytes.
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

// hashed covers the content of a Target, not the object that contains it: a nested installation sees the same target as its parent.
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

// config returns the decoded configuration, so that spaces and the order of keys do not matter.
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

// referredSecret returns the part of the Secret that the Target refers to; nil if it does not exist.
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
