// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/template"
	"espalier.dev/internal/template/keys"
)

var issued = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// generate evaluates a template that may generate values, and reports whether it did.
func generate(t *testing.T, text, seed string, state map[string]any) (result *Result, generated bool, err error) {
	t.Helper()
	entropy := template.NewEntropy([]byte(seed), issued)
	result, err = mustCompile(t, text).Evaluate(Input{Bindings: bindings(), State: state, Entropy: entropy})
	return result, entropy.Used(), err
}

// Values marked as state are generated once, follow from the seed, and are kept even with another seed.
func TestGeneratedValuesAreKept(t *testing.T) {
	for text, form := range map[string]string{
		`a: (( &state(rand("[:alnum:]", 12)) ))`: `^\{"a":"[0-9A-Za-z]{12}"\}$`,
		`a: (( &state("x-" rand("a-f", 8)) ))`:   `^\{"a":"x-[a-f]{8}"\}$`,
		"s:\n  <<: (( &state ))\n  p: (( rand(\"[:digit:]\", 6) ))\n  q: {r: (( rand(1000) ))}\na: (( s.p s.q.r ))": `^\{"a":"\d+","s":\{"p":"\d{6}","q":\{"r":\d{1,3}\}\}\}$`,
		"s:\n- <<: (( &state ))\n- name: x\n  v: (( rand(\"xyz\", 3) ))":                                            `^\{"s":\[\{"name":"x","v":"[xyz]{3}"\}\]\}$`,
		"f: (( &temporary(|n|->rand(\"[:lower:]\", n)) ))\na: (( &state(.f(5)) ))":                                  `^\{"a":"[a-z]{5}"\}$`,
		"t: {<<: (( &temporary &template )), v: '(( rand(\"ab\", 9) ))'}\na: (( &state(*t) ))":                      `^\{"a":\{"v":"[ab]{9}"\}\}$`,
		`a: (( &state(rand(-5)) ))`:                                                                      `^\{"a":(0|-[1-4])\}$`,
		`a: (( &state([rand(true), rand()]) ))`:                                                          `^\{"a":\[(true|false),\d+\]\}$`,
		`a: (( &state(x509genkey(1024)) ))`:                                                              `BEGIN RSA PRIVATE KEY`,
		`a: (( &state(x509genkey("P256")) ))`:                                                            `BEGIN EC PRIVATE KEY`,
		`a: (( &state(wggenkey()) ))` + "\nb: (( wgpublickey(a) ))":                                      `^\{"a":"[\w+/]{43}=","b":"[\w+/]{43}="\}$`,
		`a: (( &state(bcrypt("secret", 4)) ))` + "\nb: (( bcrypt_check(\"secret\", a) ))":                `^\{"a":"\$2a\$04\$[./\w]{53}","b":true\}$`,
		`a: (( &state(md5crypt(imports.name)) ))` + "\nb: (( md5crypt_check(imports.name, a) ))":         `^\{"a":"\$apr1\$[./\w]{8}\$[./\w]{22}","b":true\}$`,
		`a: (( &state(encrypt({$l=["a", 2], $t="secret"}, "key")) ))` + "\nb: (( decrypt(a, \"key\") ))": `^\{"a":"[0-9a-f]{128}","b":\{"l":\["a",2\],"t":"secret"\}\}$`,
		"s:\n  <<: (( &state &tag:s ))\n  p: (( rand(\"a-z\", 9) ))\n  h: (( bcrypt(p, 4) ))\na: (( bcrypt_check(s::p, s::h) ))\nb: (( s::p ))": `^\{"a":true,"b":"[a-z]{9}","s":\{"h":"\$2a\$04.*","p":"[a-z]{9}"\}\}$`,
		`a: (( &state(stub() || rand("[:alnum:]", 4)) ))`:                                                                                `^\{"a":"\w{4}"\}$`,
		`a: (( &state(merge none // (stub() || rand("[:alnum:]", 4))) ))`:                                                                `^\{"a":"\w{4}"\}$`,
		"k: (( &state(x509genkey(\"P256\")) ))\nc: '(( &state(x509cert({$usage=[\"CertSign\"], $commonName=\"ca\", $privateKey=k})) ))'": `BEGIN CERTIFICATE`,
	} {
		first, generated, err := generate(t, text, "one", nil)
		if err != nil || !generated {
			t.Errorf("%s: generated %t, %v", text, generated, err)
			continue
		}
		got := toJSON(t, first.Value)
		if !regexp.MustCompile(form).MatchString(got) {
			t.Errorf("%s: got %s", text, got)
		}
		if again, _, _ := generate(t, text, "one", nil); toJSON(t, again.Value) != got {
			t.Errorf("%s: the same seed gives %s and %s", text, got, toJSON(t, again.Value))
		}
		if other, _, _ := generate(t, text, "another", nil); toJSON(t, other.Value) == got && !strings.Contains(text, "rand(-5)") {
			t.Errorf("%s: another seed gives the same", text)
		}
		kept, generated, err := generate(t, text, "another", first.State)
		if err != nil || generated {
			t.Errorf("%s: with state, generated %t, %v", text, generated, err)
			continue
		}
		if diff := cmp.Diff([]string{got, toJSON(t, first.State)}, []string{toJSON(t, kept.Value), toJSON(t, kept.State)}); diff != "" {
			t.Errorf("%s: value and state, with state (-want +got):\n%s", text, diff)
		}
	}
}

// Values that are not kept are not generated, and nothing can catch the error.
func TestOnlyWhatIsKeptIsGenerated(t *testing.T) {
	for name := range generators {
		for _, text := range []string{
			"a: (( %s() ))", "a: (( %s() || 1 ))", "a: {b: (( &state(%s()) ))}", "a: (( &state &temporary(%s()) ))\nb: (( a ))",
			"a: [{<<: (( &state ))}, (( %s() ))]", "a: [{<<: (( &state ))}, {name: (( %s() )), b: 1}]",
			"p: (( %s() ))\na: (( &state(p) ))", "a: (( &state(p) ))\np: (( &temporary(%s()) ))",
		} {
			want := "function " + name + " is available only for values that are kept because " + becauseNotKept
			if _, _, err := generate(t, fmt.Sprintf(text, name), "x", nil); err == nil || messageIn(t, err) != want {
				t.Errorf(text+": got %v", name, err)
			}
		}
		want := "! function " + name + " is not available here because " + becauseNoState
		if got := evaluate(t, "a: (( &state("+name+"()) ))"); got != want {
			t.Errorf("without a state: got %q", got)
		}
	}
}

func TestGeneratorsRefuse(t *testing.T) {
	for call, want := range map[string]string{
		`bcrypt(k)`:                        "at most 72 bytes",
		`bcrypt("x", 15)`:                  "cost of bcrypt must be at most 14",
		`bcrypt("x", 4611686018427387904)`: "at most 14",
		`bcrypt("x", "y")`:                 "an integer",
		`bcrypt([])`:                       "a string",
		`md5crypt(1)`:                      "a string",
		`md5crypt("x", 1)`:                 "does not take",
		`encrypt("x")`:                     "the key must be argument 2",
		`encrypt("x", "")`:                 "must not be empty",
		`encrypt("x", k, "AES")`:           "must be 3DES",
		`bcrypt_check(k, k) ? 1 :error("not a hash")`: "not a hash",
		`rand(0)`:                                "the limit must not be zero",
		`rand("z-a")`:                            "not a class",
		`rand("a", 0)`:                           "from 1 to",
		`rand("a", 1000000)`:                     "from 1 to",
		`rand("a", "b")`:                         "integer",
		`rand([])`:                               "class of characters",
		`rand(1, 2)`:                             "does not take",
		`rand("ä")`:                              "no characters",
		`x509genkey(512)`:                        "1024 to 4096",
		`x509genkey(1000000)`:                    "1024 to 4096",
		`x509genkey("P1")`:                       "the curve must be",
		`x509genkey([])`:                         "bits or the name",
		`wggenkey("x")`:                          "private or preshared",
		`x509cert(1)`:                            "must be a map",
		`x509cert({})`:                           "privateKey is missing",
		`x509cert({$privateKey="x"})`:            "must be a private key",
		`x509cert({$usage="x", $privateKey=k})`:  "usage contains",
		`x509cert({$caCert="x", $privateKey=k})`: "caCert must be",
		`x509cert({$validFrom="x", $privateKey=k})`: "validFrom must be",
		`x509cert({$validity="x", $privateKey=k})`:  "validity must be",
		`x509publickey("x")`:                        "must be a private key, a public",
		`x509publickey(k, "x")`:                     "pem, pkix or ssh",
		`x509publickey(k, "ssh")`:                   "SSH supports only RSA, Ed25519",
		`x509parsecert("x")`:                        "not a certificate",
		`wgpublickey("x")`:                          "not a key",
	} {
		_, _, err := generate(t, `k: (( &state(x509genkey("P224")) ))`+"\na: '(( &state("+call+") ))'", "x", nil)
		if err == nil || !strings.Contains(messageIn(t, err), want) {
			t.Errorf("%s: got %v, want %s", call, err, want)
		}
	}
}

const authority = `
caKey: (( &state(x509genkey("P256")) ))
caCert: '(( &state(x509cert({$usage=["CertSign", "CRLSign"], $organization="o", $country=["DE"], $commonName="ca", $isCA=true, $privateKey=caKey})) ))'
key: (( &state(x509genkey()) ))
cert: '(( &state(x509cert({$usage=["ServerAuth", "Signature"], $commonName="c", $hosts=["a.b", "10.0.0.1"], $validity=48, $publicKey=x509publickey(key), $caCert=caCert, $caPrivateKey=caKey})) ))'
parsed: (( x509parsecert(cert) ))
valid: '(( [check(caCert, "ca"), check(cert, "ca"), check(cert, "certificate"), check(key, "privatekey"), check(parsed.publicKey, "publickey"), check("x", "certificate")] ))'
same: (( parsed.publicKey == x509publickey(key) ))
`

func TestCertificates(t *testing.T) {
	result, _, err := generate(t, authority, "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	values := result.Value.(map[string]any)
	delete(values["parsed"].(map[string]any), "publicKey")
	want := `{"commonName":"c","dnsNames":["a.b"],"hosts":["10.0.0.1","a.b"],"ipAddresses":["10.0.0.1"],"isCA":false,"usage":["Signature","ServerAuth"],"validFrom":"Mar 4 05:06:07 2026","validUntil":"Mar 6 05:06:07 2026","validity":48}`
	if got := toJSON(t, values["parsed"]); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := toJSON(t, values["valid"]); got != `[true,false,true,true,true,false]` || values["same"] != true {
		t.Errorf("valid %s, the public keys are the same: %v", got, values["same"])
	}
	ca, err := keys.ParseCertificate(values["caCert"].(string))
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := keys.ParseCertificate(values["cert"].(string))
	if err != nil || certificate.CheckSignatureFrom(ca) != nil {
		t.Errorf("the certificate is not that of the authority: %v", err)
	}
}
