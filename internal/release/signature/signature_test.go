// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// fixed returns always the same key, which is used nowhere else.
func fixed() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
}

// file returns a private key in the format of ssh-keygen.
func file(t *testing.T, key crypto.PrivateKey, passphrase string) []byte {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "a comment")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block)
}

const content = "0123  espalier_v1.2.3_linux_amd64.tar.gz\n"

// byOpenSSH was made by "ssh-keygen -Y sign -n espalier-release" of OpenSSH 9.2, with the same key and the same content.
const byOpenSSH = `-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAg6kpsY+KcUgq+9VB7Ey7F+ZVHdq
6+vnuSQh7qaRRG0iwAAAAQZXNwYWxpZXItcmVsZWFzZQAAAAAAAAAGc2hhNTEyAAAAUwAA
AAtzc2gtZWQyNTUxOQAAAEAwVvHuyw+R496E507kAJ3TNXbsiwkRIvNrRUsSTRX39XnieU
C7AMqHwTw6iNhtJHnVkBerTZKYyYNIi7Plq14O
-----END SSH SIGNATURE-----
`

func TestOpenSSHMakesTheSameSignature(t *testing.T) {
	key, err := Read(file(t, fixed(), ""))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := key.Sign([]byte(content))
	if err != nil || string(signed) != byOpenSSH {
		t.Errorf("%v\n%s", err, signed)
	}
	if want := "ssh-ed25519 AAAA"; !strings.HasPrefix(key.Public(), want) || strings.Contains(key.Public(), "\n") {
		t.Errorf("the public key is %q", key.Public())
	}
}

func TestOtherContentHasAnotherSignature(t *testing.T) {
	key, err := Read(file(t, fixed(), ""))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := key.Sign([]byte(content + "more"))
	if err != nil || string(signed) == byOpenSSH {
		t.Errorf("%v\n%s", err, signed)
	}
}

// Errors about a key do not contain the key.
func TestKeysThatCannotSign(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text []byte
		want string
	}{
		"nothing":          {nil, "not a private key"},
		"something else":   {[]byte("s3cret"), "not a private key"},
		"a damaged key":    {file(t, fixed(), "")[:100], "not a private key"},
		"a locked key":     {file(t, fixed(), "open sesame"), "passphrase"},
		"another kind":     {file(t, other, ""), "ssh-keygen -t ed25519"},
		"the public key":   {[]byte("ssh-ed25519 AAAAs3cret"), "not a private key"},
		"two lines of PEM": {[]byte("-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n"), "not a private key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
		})
	}
}
