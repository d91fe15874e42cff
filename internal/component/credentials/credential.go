// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import "slices"

// Credential authenticates to a server, and contains the authority that authenticates the server. Its fields are those of the documents.
type Credential struct {
	Username      string
	Password      string
	IdentityToken string
	// CertificateAuthority, Certificate and PrivateKey are PEM.
	CertificateAuthority string
	Certificate          string
	PrivateKey           string
}

// String keeps credentials out of printed texts.
func (c Credential) String() string { return "<credential>" }

// GoString is String for %#v.
func (c Credential) GoString() string { return c.String() }

// Types of consumers.
const (
	TypeOCIRegistry         = "OCIRegistry"
	TypeHelmChartRepository = "HelmChartRepository"
)

// Set contains credentials and the addresses that they are for. The zero value is empty. It is immutable: And returns a new one.
type Set struct {
	entries []entry
}

type entry struct {
	consumer   consumer
	credential Credential
}

// And returns a set with the credentials of both. Among equally specific entries, those of the other set win.
func (s Set) And(other Set) Set {
	return Set{entries: slices.Concat(s.entries, other.entries)}
}

// Len returns how many entries there are.
func (s Set) Len() int { return len(s.entries) }

// Find returns the credential for an address: that of the most specific matching entry, and the last one among equals.
func (s Set) Find(wanted Address) (Credential, bool) {
	best, found := -1, Credential{}
	for _, e := range s.entries {
		if rank := e.consumer.rank(wanted); rank >= 0 && rank >= best {
			best, found = rank, e.credential
		}
	}
	return found, best >= 0
}
