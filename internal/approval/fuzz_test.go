// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Any accepted path can be written again with the same meaning, and names nothing that cannot exist.
func FuzzPIP26_PathOfAnApproval(f *testing.F) {
	for _, seed := range []string{
		"/approval/default/shop/prod/1.2.3", "/approval/a/b/c/d/e@sha1:f", "/approval/a/b/c%2Fd/e%2ff", "/approval//b/c/d", "/approval/a/b/%/d",
		"/approval/..%2f/b/c/d", "/promotion/a/b/c", "/webhook/github/a/b/c", "/approval/a/b/c/%ff", "///", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		_, rest := endpointOf(path)
		parsePromotion(rest)
		parseHook(rest)
		target, ok := parseApproval(rest)
		if !ok {
			return
		}
		parts := []string{target.pipeline.Namespace, target.pipeline.Name, target.environment, target.revision}
		for i, part := range parts {
			if part == "" || i < 2 && strings.ContainsAny(part, "/%?#\x00") {
				t.Fatalf("%q names %q", path, part)
			}
			parts[i] = url.PathEscape(part)
		}
		if again, ok := parseApproval(strings.Join(parts, "/")); !ok || again != target {
			t.Errorf("%q is read as %+v, and that as %+v", path, target, again)
		}
	})
}

// Any accepted header fields were signed exactly as sent, and cover method, path, time and nonce.
func FuzzPIP26_SignatureHeader(f *testing.F) {
	good := sign("/approval/a/b/c/d")
	header := good.header()
	f.Add(header.Get(inputHeader), header.Get(signatureHeader))
	f.Add(`sig=("@path" "@method");nonce="0123456789abcdef0123456789abcdef";created=1;tag="espalier";expires=2`, header.Get(signatureHeader))
	f.Add(`sig=("@method");created=-1;created=1`, "sig=:AAAA:")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, input, signed string) {
		s, err := parseSignature(http.Header{inputHeader: {input}, signatureHeader: {signed}})
		if err != nil {
			return
		}
		if s.created.IsZero() || len(s.nonce) < 22 || len(s.mac) != 32 || !strings.HasSuffix(input, s.input) {
			t.Fatalf("%q is read as %+v", input, s)
		}
		base := s.base("POST", "/approval/a/b/c/d")
		for _, covered := range []string{`"@method": POST` + "\n", `"@path": /approval/a/b/c/d` + "\n", `"@signature-params": ` + s.input} {
			if !strings.Contains(base, covered) {
				t.Fatalf("%q signs %q, which lacks %q", input, base, covered)
			}
		}
		if s.madeWith([]byte("a key that signs nothing"), "POST", "/approval/a/b/c/d") {
			t.Errorf("%q and %q are accepted for any key", input, signed)
		}
	})
}

// The older header field has only one interpretation.
func FuzzPIP26_BodySignatureHeader(f *testing.F) {
	f.Add("sha256=00", []byte("body"))
	f.Add("sha512="+strings.Repeat("ab", 64), []byte{})
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		s, err := parseBodySignature(http.Header{bodySignatureHeader: {text}})
		if err == nil && (s.madeWith([]byte("k"), body) && s.madeWith([]byte("k2"), body) || len(s.mac) != s.algorithm().Size()) {
			t.Errorf("%q is accepted for any key", text)
		}
	})
}

// A signature follows RFC 9421, sections 2.5 and 3.3.3, so that libraries for it can be used. The expected value was computed with OpenSSL.
func TestPIP26_TheSignatureFollowsTheStandard(t *testing.T) {
	s := &signature{
		input:      `("@method" "@path");created=1700000000;nonce="00112233445566778899aabbccddeeff";tag="espalier"`,
		components: []string{`"@method"`, `"@path"`},
	}
	const base = `"@method": POST` + "\n" + `"@path": /approval/default/shop/prod/1.2.3` + "\n" +
		`"@signature-params": ("@method" "@path");created=1700000000;nonce="00112233445566778899aabbccddeeff";tag="espalier"`
	if got := s.base("POST", "/approval/default/shop/prod/1.2.3"); got != base {
		t.Errorf("signed is %q, want %q", got, base)
	}
	header := http.Header{inputHeader: {"sig=" + s.input}, signatureHeader: {"sig=:" + opensslMAC + ":"}}
	parsed, err := parseSignature(header)
	if err != nil {
		t.Fatal(err)
	}
	if !parsed.madeWith(bytes.Repeat([]byte("k"), 32), "POST", "/approval/default/shop/prod/1.2.3") {
		t.Error("OpenSSL's signature is refused")
	}
	for _, other := range []time.Duration{-signatureWindow, 0, signatureWindow} {
		if err := parsed.checkTime(parsed.created.Add(other)); err != nil {
			t.Errorf("%s later: %v", other, err)
		}
	}
	for _, other := range []time.Duration{-signatureWindow - time.Second, signatureWindow + time.Second} {
		if parsed.checkTime(parsed.created.Add(other)) == nil {
			t.Errorf("accepted %s later", other)
		}
	}
}

const opensslMAC = "cCWFjwOxLnEDbOec9sZYYyDGyAvVWRWiYuvAocLi5yU="
