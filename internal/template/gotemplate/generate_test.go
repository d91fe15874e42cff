// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/template"
	"espalier.dev/internal/template/keys"
)

func generate(t *testing.T, text, seed string) (string, []string, error) {
	t.Helper()
	// A 4096-bit RSA key takes more steps than the limit, and more time than a test should.
	compiled, err := Compile(template.Source{Execution: "test", Text: text}, Options{Limits: template.Limits{Steps: 400_000}})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var generated []string
	output, err := compiled.Render(Input{
		Bindings: map[string]any{"imports": map[string]any{"n": 4.0}}, Entropy: template.NewEntropy([]byte(seed), time.Unix(1_800_000_000, 0)),
		Generated: func(function, text string) { generated = append(generated, function+" "+text) },
	})
	return output, generated, err
}

func TestGeneratedValuesFollowFromTheSeed(t *testing.T) {
	for text, form := range map[string]string{
		`{{ randAlphaNum 30 }}`:          `^[0-9A-Za-z]{30}$`,
		`{{ randAlpha 30 }}`:             `^[A-Za-z]{30}$`,
		`{{ randNumeric 30 }}`:           `^[0-9]{30}$`,
		`{{ randAscii .imports.n }}`:     `^[ -~]{4}$`,
		`{{ randBytes 16 }}`:             `^[0-9A-Za-z+/]{22}==$`,
		`{{ randInt 5 900000005 }}`:      `^[0-9]{1,9}$`,
		`{{ uuidv4 }}`:                   `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		`{{ shuffle "abcdefghijkl" }}`:   `^[a-l]{12}$`,
		`{{ bcrypt "secret" }}`:          `^\$2a\$10\$[./\w]{53}$`,
		`{{ htpasswd "user" "secret" }}`: `^user:\$2a\$10\$[./\w]{53}$`,
		`{{ encryptAES "key" "text" | len }} {{ encryptAES "key" "text" }}`:  `^44 [\w+/]{43}=$`,
		`{{ encryptAES "key" "text" | decryptAES "key" }} {{ randAlpha 9 }}`: `^text [A-Za-z]{9}$`,
		`{{ genPrivateKey "ecdsa" }}`:                                        `BEGIN EC PRIVATE KEY`,
		`{{ genPrivateKey "ed25519" }}`:                                      `BEGIN PRIVATE KEY`,
		`{{ $ca := genCA "ca" 10 }}{{ $ca.Cert }}{{ $ca.Key }}`:              `BEGIN CERTIFICATE[^Z]*BEGIN RSA PRIVATE KEY|BEGIN CERTIFICATE`,
	} {
		one, _, err := generate(t, text, "one")
		if err != nil || !regexp.MustCompile(form).MatchString(one) {
			t.Errorf("%s: got %q, %v", text, one, err)
		}
		again, _, _ := generate(t, text, "one")
		other, _, _ := generate(t, text, "other")
		if again != one || other == one {
			t.Errorf("%s: got %q, with the same seed %q, with another %q", text, one, again, other)
		}
	}
}

func TestCertificatesOfGoTemplates(t *testing.T) {
	output, generated, err := generate(
		t,
		`{{ $k := genPrivateKey "ecdsa" }}{{ $ca := genCAWithKey "ca" 10 $k }}{{ $c := genSignedCertWithKey "c" (list "10.0.0.1") (list "a.b") 5 $ca $k }}`+
			`{{ $s := genSelfSignedCertWithKey "s" nil nil 5 $k }}{{ $b := buildCustomCert ($s.Cert | b64enc) ($s.Key | b64enc) }}{{ $ca.Cert }}|{{ $c.Cert }}|{{ $b.Cert }}`,
		"x",
	)
	if err != nil {
		t.Fatal(err)
	}
	texts := strings.Split(output, "|")
	ca, err := keys.ParseCertificate(texts[0])
	if err != nil || !ca.IsCA || ca.NotAfter.Sub(ca.NotBefore) != 240*time.Hour {
		t.Fatalf("%+v, %v", ca, err)
	}
	c, err := keys.ParseCertificate(texts[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckSignatureFrom(ca); err != nil || c.IsCA {
		t.Errorf("the certificate is one that signs: %t, and is not signed by the other: %v", c.IsCA, err)
	}
	if names := fmt.Sprint(c.DNSNames, c.IPAddresses); names != "[a.b] [10.0.0.1]" {
		t.Errorf("the certificate is one of %s", names)
	}
	if s, err := keys.ParseCertificate(texts[2]); err != nil ||
		s.CheckSignature(s.SignatureAlgorithm, s.RawTBSCertificate, s.Signature) != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if len(generated) != 7 || !strings.HasPrefix(generated[0], "genPrivateKey -----") ||
		!strings.HasPrefix(generated[3], "genSignedCertWithKey -----") {
		t.Errorf("%d texts were told", len(generated))
	}
}

func TestGeneratorsRefuse(t *testing.T) {
	for text, want := range map[string]string{
		`{{ randAlpha -1 }}`:                            "function randAlpha: the length must be from 0 to 10000",
		`{{ randAlpha 1000000 }}`:                       "the length must be",
		`{{ randAlpha "x" }}`:                           "an integer is required here",
		`{{ htpasswd "a:b" "x" }}`:                      "function htpasswd: the name of the user must not contain a colon",
		`{{ bcrypt (repeat 73 "x") }}`:                  "function bcrypt: bcrypt takes passwords of at most 72 bytes",
		`{{ range until 10 }}{{ bcrypt "x" }}{{ end }}`: "limit reached",
		`{{ range until 3 }}{{ derivePassword 1 "pin" "x" "y" "z" }}{{ end }}`: "limit reached",
		`{{ derivePassword 1 "other" "x" "y" "z" }}`:                           "function derivePassword: the kind of password must be one of basic, long, maximum, medium, pin, short",
		`{{ derivePassword -1 "pin" "x" "y" "z" }}`:                            "the counter must be from 0",
		`{{ randInt 5 5 }}`:             "the second number must be greater",
		`{{ genPrivateKey "dsa" }}`:     "rsa, ecdsa or ed25519",
		`{{ genCAWithKey "x" 1 "y" }}`:  "not a private key",
		`{{ buildCustomCert "x" "y" }}`: "base64",
		`{{ genPrivateKey "rsa" }}`:     "limit reached",
	} {
		if _, _, err := generate(t, text, "x"); err == nil || !strings.Contains(messageIn(t, err), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	for name := range generators {
		if _, err := compile(t, "{{ "+name+" }}").Render(Input{}); err == nil ||
			messageIn(t, err) != "function "+name+" is not available in blueprints because "+becauseNoState {
			t.Errorf("%s without a state: %v", name, err)
		}
	}
}
