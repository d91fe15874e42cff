// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	_ "crypto/sha512" // a digest algorithm
	"errors"
	"io"

	"github.com/opencontainers/go-digest"
)

// verifying verifies content against its digest while it is read. If it differs, the content ends with an error.
type verifying struct {
	io.ReadCloser
	digester digest.Digester
	want     digest.Digest
	// differs is called once if the content differs; it may be nil.
	differs func()
}

func verify(content io.ReadCloser, want digest.Digest, differs func()) *verifying {
	return &verifying{ReadCloser: content, digester: want.Algorithm().Digester(), want: want, differs: differs}
}

func (v *verifying) Read(into []byte) (int, error) {
	n, err := v.ReadCloser.Read(into)
	v.digester.Hash().Write(into[:n])
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if got := v.digester.Digest(); got != v.want {
		if v.differs != nil {
			v.differs()
			v.differs = nil
		}
		return 0, wrongDigest(v.want.String(), got.String())
	}
	return n, err
}

// bounded ends with an error if the content exceeds a limit.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(into []byte) (int, error) {
	n, err := b.Reader.Read(into)
	if b.left -= int64(n); b.left < 0 {
		return 0, tooLarge("the content exceeds the size limit")
	}
	return n, err
}

func validDigest(of digest.Digest) error {
	if err := of.Validate(); err != nil {
		return malformed("a digest is an algorithm (sha256, sha384 or sha512), a colon and hexadecimal digits")
	}
	return nil
}
