// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import "slices"

// Credential is what a server is shown, and what it is trusted by. Its fields are as the documents have them.
type Credential struct {
	Username      string
	Password      string
	IdentityToken string
	// CertificateAuthority, Certificate and PrivateKey are PEM.
	CertificateAuthority string
	Certificate          string
	PrivateKey           string
}

// String keeps credentials out of every text that is printed with them.
func (c Credential) String() string { return "<credential>" }

// GoString does the same for %#v.
func (c Credential) GoString() string { return c.String() }

// Types of consumers.
const (
	TypeOCIRegistry         = "OCIRegistry"
	TypeHelmChartRepository = "HelmChartRepository"
)

// Set holds credentials with what they are for. The zero value has none. It is a value: what is added makes a new one.
type Set struct {
	entries []entry
}

type entry struct {
	consumer   consumer
	credential Credential
}

// And returns a set that has the credentials of both. Where entries are equally specific, those of the other set count.
func (s Set) And(other Set) Set {
	return Set{entries: slices.Concat(s.entries, other.entries)}
}

// Len returns how many entries there are.
func (s Set) Len() int { return len(s.entries) }

// Find returns the credential for an address: of the entries that match it, the most specific one, and of equals the last.
func (s Set) Find(wanted Address) (Credential, bool) {
	best, found := -1, Credential{}
	for _, e := range s.entries {
		if rank := e.consumer.rank(wanted); rank >= 0 && rank >= best {
			best, found = rank, e.credential
		}
	}
	return found, best >= 0
}
