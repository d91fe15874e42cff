// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package signature signs files as "ssh-keygen -Y sign" does, so that OpenSSH can verify them. The format is that of
// PROTOCOL.sshsig in the sources of OpenSSH.
package signature

import (
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Namespace is the purpose of signatures. A signature for another purpose with the same key does not pass for one of a release.
const Namespace = "espalier-release"

const (
	magic     = "SSHSIG"
	version   = 1
	hashName  = "sha512"
	lineWidth = 70
)

// Key signs.
type Key struct{ signer ssh.Signer }

// Read parses a private key in the format of ssh-keygen, without a passphrase. Only Ed25519 is accepted: its signatures are deterministic.
func Read(text []byte) (Key, error) {
	raw, err := ssh.ParseRawPrivateKey(text)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return Key{}, errors.New("it has a passphrase: use one without, or sign with \"ssh-keygen -Y sign\" after the build")
	}
	if err != nil {
		return Key{}, errors.New("it is not a private key: create one with \"ssh-keygen -t ed25519\"")
	}
	private, ok := raw.(*ed25519.PrivateKey)
	if !ok {
		return Key{}, fmt.Errorf("it is a %T: create an Ed25519 key with \"ssh-keygen -t ed25519\"", raw)
	}
	signer, err := ssh.NewSignerFromKey(private)
	return Key{signer: signer}, err
}

// Public returns the public key in the format of allowed signers, without the name of the signer.
func (k Key) Public() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.signer.PublicKey())))
}

// Sign returns the detached signature of a file.
func (k Key) Sign(content []byte) ([]byte, error) {
	hash := sha512.Sum512(content)
	signed := append([]byte(magic), ssh.Marshal(struct{ Namespace, Reserved, HashName, Hash string }{
		Namespace, "", hashName, string(hash[:]),
	})...)
	signature, err := k.signer.Sign(nil, signed) // Ed25519 needs no randomness.
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	blob := append([]byte(magic), ssh.Marshal(struct {
		Version                                             uint32
		PublicKey, Namespace, Reserved, HashName, Signature string
	}{version, string(k.signer.PublicKey().Marshal()), Namespace, "", hashName, string(ssh.Marshal(signature))})...)
	return armoured(blob), nil
}

// armoured returns a signature in the text format of OpenSSH.
func armoured(blob []byte) []byte {
	text := base64.StdEncoding.EncodeToString(blob)
	var lines strings.Builder
	lines.WriteString("-----BEGIN SSH SIGNATURE-----\n")
	for len(text) > 0 {
		length := min(lineWidth, len(text))
		lines.WriteString(text[:length] + "\n")
		text = text[length:]
	}
	lines.WriteString("-----END SSH SIGNATURE-----\n")
	return []byte(lines.String())
}
