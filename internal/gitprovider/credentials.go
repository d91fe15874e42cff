// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Keys of the Secret that a pull-request strategy names.
const (
	KeyUsername = "username"
	KeyPassword = "password"
	KeyToken    = "token"
	KeyCAFile   = "caFile"
)

// Credentials are what the Secret of a pull-request strategy holds. They print as nothing but the word "credentials".
type Credentials struct {
	// Username and Password are for Git over HTTPS.
	Username, Password string
	// Token is for the API of the provider.
	Token string
	// CA holds certificates, in PEM, that the provider's certificate may come from. If it is empty, those of the system count.
	CA []byte
}

// CredentialsFrom reads the data of a Secret. Blanks and line breaks around a value are dropped: nobody means them.
func CredentialsFrom(data map[string][]byte) (Credentials, error) {
	if len(bytes.TrimSpace(data[KeyToken])) == 0 {
		return Credentials{}, Misconfiguredf("the Secret has no key %q: put the token for the API of the Git server there", KeyToken)
	}
	return ReaderCredentialsFrom(data)
}

// ReaderCredentialsFrom reads the data of a Secret for somebody who only reads with Git: none of its keys has to be there.
func ReaderCredentialsFrom(data map[string][]byte) (Credentials, error) {
	read := func(key string) string { return strings.TrimSpace(string(data[key])) }
	c := Credentials{Username: read(KeyUsername), Password: read(KeyPassword), Token: read(KeyToken), CA: data[KeyCAFile]}
	for key, value := range map[string]string{KeyUsername: c.Username, KeyPassword: c.Password, KeyToken: c.Token} {
		if strings.ContainsFunc(value, isControl) {
			return Credentials{}, Misconfiguredf("the key %q of the Secret contains a line break or another control character", key)
		}
	}
	if len(c.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.CA) {
		return Credentials{}, Misconfiguredf("the key %q of the Secret holds no certificate in PEM format", KeyCAFile)
	}
	return c, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Fingerprint tells credentials apart without giving them away.
func (c Credentials) Fingerprint() [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{c.Username, c.Password, c.Token, string(c.CA)} {
		_ = binary.Write(h, binary.BigEndian, int64(len(part)))
		_, _ = io.WriteString(h, part)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Secrets are what no message may contain.
func (c Credentials) Secrets() []string { return []string{c.Token, c.Password} }

const printed = "credentials"

// Format keeps secrets out of whatever is printed, whichever verb is used.
func (Credentials) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, printed) }

// MarshalText keeps secrets out of JSON, YAML and structured logs.
func (Credentials) MarshalText() ([]byte, error) { return []byte(printed), nil }
