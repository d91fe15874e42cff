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

// Credentials are the contents of the Secret of a pull-request strategy. They print as the word "credentials" only.
type Credentials struct {
	// Username and Password are for Git over HTTPS.
	Username, Password string
	// Token is for the API of the provider.
	Token string
	// CA holds the CA certificates, in PEM, to trust for the provider. If it is empty, those of the system apply.
	CA []byte
}

// CredentialsFrom reads the data of a Secret. White space around a value is dropped, because it is never intended.
func CredentialsFrom(data map[string][]byte) (Credentials, error) {
	if len(bytes.TrimSpace(data[KeyToken])) == 0 {
		return Credentials{}, Misconfiguredf("the Secret has no key %q: put the token for the API of the Git server there", KeyToken)
	}
	return ReaderCredentialsFrom(data)
}

// ReaderCredentialsFrom reads the data of a Secret for read-only Git access: all of its keys are optional.
func ReaderCredentialsFrom(data map[string][]byte) (Credentials, error) {
	read := func(key string) string { return strings.TrimSpace(string(data[key])) }
	c := Credentials{Username: read(KeyUsername), Password: read(KeyPassword), Token: read(KeyToken), CA: data[KeyCAFile]}
	for key, value := range map[string]string{KeyUsername: c.Username, KeyPassword: c.Password, KeyToken: c.Token} {
		if strings.ContainsFunc(value, isControl) {
			return Credentials{}, Misconfiguredf("the key %q of the Secret contains a line break or another control character", key)
		}
	}
	if len(c.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.CA) {
		return Credentials{}, Misconfiguredf("the key %q of the Secret contains no certificate in PEM format", KeyCAFile)
	}
	return c, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Fingerprint identifies credentials without revealing them.
func (c Credentials) Fingerprint() [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{c.Username, c.Password, c.Token, string(c.CA)} {
		_ = binary.Write(h, binary.BigEndian, int64(len(part)))
		_, _ = io.WriteString(h, part)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Secrets returns the values that no message may contain.
func (c Credentials) Secrets() []string { return []string{c.Token, c.Password} }

const printed = "credentials"

// Format keeps secrets out of formatted output, for every verb.
func (Credentials) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, printed) }

// MarshalText keeps secrets out of JSON, YAML and structured logs.
func (Credentials) MarshalText() ([]byte, error) { return []byte(printed), nil }
