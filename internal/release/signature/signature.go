// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package signature signs files as "ssh-keygen -Y sign" does, so that whoever has OpenSSH can verify them. The format is that of
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

// Namespace is what signatures are for. One that was made with the same key for something else does not pass for one of a release.
const Namespace = "espalier-release"

const (
	magic     = "SSHSIG"
	version   = 1
	hashName  = "sha512"
	lineWidth = 70
)

// Key signs.
type Key struct{ signer ssh.Signer }

// Read reads a private key as ssh-keygen writes it, without a passphrase. Only Ed25519 will do: its signatures are the same each time.
func Read(text []byte) (Key, error) {
	raw, err := ssh.ParseRawPrivateKey(text)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		return Key{}, errors.New("it has a passphrase: use one without, or sign with \"ssh-keygen -Y sign\" after the build")
	}
	if err != nil {
		return Key{}, errors.New("it is no private key: make one with \"ssh-keygen -t ed25519\"")
	}
	private, ok := raw.(*ed25519.PrivateKey)
	if !ok {
		return Key{}, fmt.Errorf("it is a %T: make an Ed25519 key with \"ssh-keygen -t ed25519\"", raw)
	}
	signer, err := ssh.NewSignerFromKey(private)
	return Key{signer: signer}, err
}

// Public is the public key as a line of a file with allowed signers has it, behind the name of the signer.
func (k Key) Public() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.signer.PublicKey())))
}

// Sign returns the signature of a file, as a file of its own.
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

// armoured is what OpenSSH makes of a signature that is to be sent as text.
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
