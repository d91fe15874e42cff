// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math/big"
)

// ErrSSH is the error of a key whose kind SSH does not support.
var ErrSSH = errors.New("SSH supports only RSA, Ed25519 and the curves P256, P384 and P521")

var sshCurves = map[string]string{"P-256": "nistp256", "P-384": "nistp384", "P-521": "nistp521"}

// PublicSSH encodes a public key as a line of the file authorized_keys.
func PublicSSH(key crypto.PublicKey) (string, error) {
	var kind string
	var parts [][]byte
	switch k := key.(type) {
	case *rsa.PublicKey:
		kind, parts = "ssh-rsa", [][]byte{sshNumber(big.NewInt(int64(k.E))), sshNumber(k.N)}
	case ed25519.PublicKey:
		kind, parts = "ssh-ed25519", [][]byte{k}
	case *ecdsa.PublicKey:
		curve := sshCurves[k.Params().Name]
		point, err := k.ECDH()
		if curve == "" || err != nil {
			return "", ErrSSH
		}
		kind, parts = "ecdsa-sha2-"+curve, [][]byte{[]byte(curve), point.Bytes()}
	default:
		return "", ErrSSH
	}
	var content []byte
	for _, part := range append([][]byte{[]byte(kind)}, parts...) {
		content = append(binary.BigEndian.AppendUint32(content, uint32(len(part))), part...)
	}
	return kind + " " + base64.StdEncoding.EncodeToString(content) + "\n", nil
}

// sshNumber encodes a positive number: without padding, a set first bit would make it negative.
func sshNumber(n *big.Int) []byte {
	if n.BitLen()%8 == 0 {
		return append([]byte{0}, n.Bytes()...)
	}
	return n.Bytes()
}
