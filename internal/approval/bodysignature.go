// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"strings"
)

// bodySignatureHeader is the header field of the older scheme: X-Signature: <algorithm>=<hex>, an HMAC of the body alone. It does not cover
// the path, so anyone who has seen one call can forge others with it.
const bodySignatureHeader = "X-Signature"

var bodyAlgorithms = map[string]func() hash.Hash{
	"sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

type bodySignature struct {
	algorithm func() hash.Hash
	mac       []byte
}

func parseBodySignature(header http.Header) (*bodySignature, error) {
	values := header.Values(bodySignatureHeader)
	if len(values) != 1 {
		return nil, fmt.Errorf("there must be one %s", bodySignatureHeader)
	}
	name, text, _ := strings.Cut(values[0], "=")
	algorithm, known := bodyAlgorithms[name]
	if !known {
		return nil, fmt.Errorf("%s has an unknown algorithm: use sha224, sha256, sha384 or sha512", bodySignatureHeader)
	}
	mac, err := hex.DecodeString(text)
	if err != nil || len(mac) != algorithm().Size() {
		return nil, fmt.Errorf("%s is not a MAC in hexadecimal digits", bodySignatureHeader)
	}
	return &bodySignature{algorithm: algorithm, mac: mac}, nil
}

// madeWith reports, in constant time, whether the signature was made with the key for this body.
func (s *bodySignature) madeWith(key, body []byte) bool {
	mac := hmac.New(s.algorithm, key)
	mac.Write(body)
	return hmac.Equal(mac.Sum(nil), s.mac)
}
