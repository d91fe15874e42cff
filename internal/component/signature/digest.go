// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package signature

import "strings"

// Names of hash algorithms.
const (
	SHA256 = "SHA-256"
	SHA512 = "SHA-512"
	// noDigest is the hash algorithm and the value of resources that are not part of a signature.
	noDigest = "NO-DIGEST"
	// excluded is the normalisation of resources that are not part of a signature.
	excluded = "EXCLUDE-FROM-SIGNATURE"
)

// Ways to compute a digest of content.
const (
	// ArtifactDigest is the digest under which a registry has an artifact.
	ArtifactDigest = "ociArtifactDigest/v1"
	// BlobDigest is the hash of the bytes of a blob.
	BlobDigest = "genericBlobDigest/v1"

	legacyArtifactDigest = "ociArtefactDigest/v1"
)

// Digest is the digest of a resource or of a component. The zero value means none.
type Digest struct {
	// Hash is the hash algorithm, Normalisation the step before it.
	Hash          string
	Normalisation string
	// Value is hexadecimal.
	Value string
}

// OfArtifact reports whether it is the digest of an artifact. If the kind is unknown, both OfArtifact and OfBlob return false.
func (d Digest) OfArtifact() bool {
	return d.Normalisation == ArtifactDigest || d.Normalisation == legacyArtifactDigest
}

// OfBlob reports whether it is the digest of a blob.
func (d Digest) OfBlob() bool { return d.Normalisation == BlobDigest }

// isExcluded reports whether the resource is excluded from the signature.
func (d Digest) isExcluded() bool {
	return d.Hash == noDigest && d.Normalisation == excluded && d.Value == noDigest
}

// sameKind reports whether two digests were computed in the same way, so that their values can be compared.
func (d Digest) sameKind(other Digest) bool {
	return canonicalHash(d.Hash) == canonicalHash(other.Hash) && canonicalWay(d.Normalisation) == canonicalWay(other.Normalisation)
}

func canonicalWay(name string) string {
	if name == legacyArtifactDigest {
		return ArtifactDigest
	}
	return name
}

// canonicalHash maps old spellings to the current one.
func canonicalHash(name string) string {
	switch strings.ToLower(name) {
	case "sha256":
		return SHA256
	case "sha512":
		return SHA512
	}
	return name
}

// IsSHA256 reports whether a name is that of SHA-256, in any spelling.
func IsSHA256(name string) bool { return canonicalHash(name) == SHA256 }

// IsSHA512 reports whether a name is that of SHA-512, in any spelling.
func IsSHA512(name string) bool { return canonicalHash(name) == SHA512 }

func (d Digest) object() map[string]any {
	return map[string]any{"hashAlgorithm": d.Hash, "normalisationAlgorithm": d.Normalisation, "value": d.Value}
}

// digestOf reads a digest of a descriptor; the zero value if there is none.
func digestOf(value any) Digest {
	fields, _ := value.(map[string]any)
	var d Digest
	d.Hash, _ = fields["hashAlgorithm"].(string)
	d.Normalisation, _ = fields["normalisationAlgorithm"].(string)
	d.Value, _ = fields["value"].(string)
	return d
}
