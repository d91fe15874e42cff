// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"

	"espalier.dev/internal/component"
	"espalier.dev/internal/failure"
)

// Operation and Reason are those of the error about an invalid signature in a status.
const (
	Operation = "VerifySignature"
	Reason    = "SignatureInvalid"
)

const (
	maxDepth      = 64
	maxComponents = 1000
)

// World reads components and their resources. Errors of its functions keep their kind.
type World struct {
	// Component returns the target of a reference.
	Component func(of *component.Descriptor, reference *component.Reference) (*component.Descriptor, error)
	// Resource computes the digest of a resource's content, in the requested way, or in the suitable one if none is requested.
	Resource func(of *component.Descriptor, resource *component.Resource, want Digest) (Digest, error)
}

// Verify checks the signature with a name of a component: that all content is unchanged since it was signed, and that the signer is
// trusted. The error describes the problem.
func Verify(d *component.Descriptor, name string, world World, trust Trust) error {
	signature, err := Find(d, name)
	if err != nil {
		return wrong("%w", err)
	}
	v := &verification{
		world:  world,
		kind:   signature.Digest,
		nested: nestedDigests(d),
		known:  map[component.ID]Digest{},
		within: map[component.ID]bool{},
	}
	computed, err := v.component(d, nil)
	if err != nil {
		return fmt.Errorf("signature %q of component %s: %w", name, d.ID(), err)
	}
	if !strings.EqualFold(computed.Value, signature.Digest.Value) {
		return wrong(
			"signature %q of component %s: the component was changed since it was signed: its digest is %s, signed was %s",
			name, d.ID(), computed.Value, signature.Digest.Value)
	}
	if err := trust.check(signature); err != nil {
		return wrong("signature %q of component %s: %w", name, d.ID(), err)
	}
	return nil
}

// wrong returns an error that no retry can fix.
func wrong(format string, args ...any) error {
	return failure.Terminalf(failure.Details{Operation: Operation, Reason: Reason}, format, args...)
}

// verification computes the digests of a component and of all below it.
type verification struct {
	world World
	// kind is how digests of components are computed.
	kind   Digest
	nested nested
	known  map[component.ID]Digest
	// within are the components that are being computed, to detect cycles.
	within map[component.ID]bool
}

// component computes the digest of a component. Its errors do not name the component: the caller does. The preset digests of resources are
// from a list at the root, nil if there is none.
func (v *verification) component(d *component.Descriptor, preset []nestedResource) (Digest, error) {
	if known, found := v.known[d.ID()]; found {
		return known, nil
	}
	if v.within[d.ID()] || len(v.within) > maxDepth || len(v.known) > maxComponents {
		return Digest{}, wrong(
			"its references form a cycle, or are too deep (%d) or too many (%d)", maxDepth, maxComponents)
	}
	v.within[d.ID()] = true
	defer delete(v.within, d.ID())
	digests := StoredDigests(d)
	for i := range d.References {
		if err := v.reference(d, i, &digests.References[i]); err != nil {
			return Digest{}, err
		}
	}
	for i := range d.Resources {
		if err := v.resource(d, &d.Resources[i], &digests.Resources[i], preset); err != nil {
			return Digest{}, err
		}
	}
	computed, err := v.digest(d, digests)
	if err != nil {
		return Digest{}, err
	}
	v.known[d.ID()] = computed
	return computed, nil
}

// digest hashes the normal form of a component.
func (v *verification) digest(d *component.Descriptor, digests Digests) (Digest, error) {
	text, err := Normalise(d, v.kind.Normalisation, digests)
	if err != nil {
		return Digest{}, wrong("%w", err)
	}
	sum, err := hashOf(v.kind.Hash, text)
	if err != nil {
		return Digest{}, wrong("%w", err)
	}
	return Digest{Hash: v.kind.Hash, Normalisation: v.kind.Normalisation, Value: hex.EncodeToString(sum)}, nil
}

func hashOf(name string, data []byte) ([]byte, error) {
	switch {
	case IsSHA256(name):
		sum := sha256.Sum256(data)
		return sum[:], nil
	case IsSHA512(name):
		sum := sha512.Sum512(data)
		return sum[:], nil
	}
	return nil, fmt.Errorf("unknown hash algorithm %q: it must be %s or %s", name, SHA256, SHA512)
}

// reference computes the digest of a reference's target, and compares it with the stored ones.
func (v *verification) reference(d *component.Descriptor, i int, digest *Digest) error {
	reference := &d.References[i]
	target, err := v.world.Component(d, reference)
	if err != nil {
		return fmt.Errorf("reference %s: %w", reference.Name, err)
	}
	listed, isListed := v.nested[target.ID()]
	if v.nested != nil && !isListed {
		return wrong("reference %s: the list of nested digests lacks %s", reference.Name, target.ID())
	}
	computed, err := v.component(target, listed.resources)
	if err != nil {
		return fmt.Errorf("reference %s to component %s: %w", reference.Name, target.ID(), err)
	}
	for _, stored := range []Digest{*digest, listed.digest} {
		if stored.sameKind(computed) && !strings.EqualFold(stored.Value, computed.Value) {
			return wrong("reference %s: component %s was changed since it was signed: its digest is %s, signed was %s",
				reference.Name, target.ID(), computed.Value, stored.Value)
		}
	}
	*digest = computed
	return nil
}

// resource computes the digest of a resource's content, and compares it with the stored ones.
func (v *verification) resource(d *component.Descriptor, r *component.Resource, digest *Digest, preset []nestedResource) error {
	if hasNoContent(r) {
		return nil
	}
	stored := storedDigests(r, *digest, preset)
	want := Digest{}
	if len(stored) > 0 {
		want = stored[0]
	}
	if want.isExcluded() {
		*digest = want
		return nil
	}
	computed, err := v.world.Resource(d, r, Digest{Hash: want.Hash, Normalisation: want.Normalisation})
	if err != nil {
		return fmt.Errorf("resource %s: %w", r.Name, err)
	}
	for _, one := range stored {
		if !one.sameKind(computed) || !strings.EqualFold(one.Value, computed.Value) {
			return wrong("resource %s: its content was changed since it was signed: its digest is %s, signed was %s",
				r.Name, computed.Value, one.Value)
		}
	}
	*digest = v.spelled(computed, want)
	return nil
}

// storedDigests returns the known digests of a resource: its own, and those that the root lists.
func storedDigests(r *component.Resource, own Digest, preset []nestedResource) []Digest {
	var stored []Digest
	if own != (Digest{}) {
		stored = append(stored, own)
	}
	for _, one := range preset {
		same := one.element.Name == r.Name && one.element.Version == r.Version && maps.Equal(one.element.ExtraIdentity, r.ExtraIdentity)
		if same && one.digest != (Digest{}) {
			stored = append(stored, one.digest)
		}
	}
	return stored
}

// spelled spells algorithms as the signer did. Signatures with the old name of the hash use it in all digests.
func (v *verification) spelled(computed, stored Digest) Digest {
	if stored.Normalisation != "" {
		computed.Normalisation = stored.Normalisation
	}
	if stored.Value != "" {
		computed.Value = stored.Value
	}
	computed.Hash = canonicalHash(computed.Hash)
	if v.kind.Hash != canonicalHash(v.kind.Hash) && IsSHA256(computed.Hash) {
		computed.Hash = v.kind.Hash
	}
	return computed
}
