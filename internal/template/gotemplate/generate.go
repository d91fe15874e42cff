// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"reflect"
	"time"

	"espalier.dev/internal/template"
	"espalier.dev/internal/template/keys"
)

// generators are the functions whose results would otherwise be random. They use the entropy of the rendering, and the
// template must keep their results in its state.
var generators = map[string]func(*run) any{
	"randAlphaNum": func(r *run) any { return r.randomText("randAlphaNum", letters+digits) },
	"randAlpha":    func(r *run) any { return r.randomText("randAlpha", letters) },
	"randNumeric":  func(r *run) any { return r.randomText("randNumeric", digits) },
	"randAscii":    func(r *run) any { return r.randomText("randAscii", printable()) },
	"randBytes":    func(r *run) any { return r.randomBytes },
	"randInt":      func(r *run) any { return r.randomInteger },
	"uuidv4":       func(r *run) any { return r.uuid },
	"shuffle":      func(r *run) any { return r.shuffle },

	"bcrypt":     func(r *run) any { return r.bcrypt },
	"htpasswd":   func(r *run) any { return r.htpasswd },
	"encryptAES": func(r *run) any { return r.encryptAES },

	"genPrivateKey":            func(r *run) any { return r.privateKey },
	"genCA":                    func(r *run) any { return r.authority },
	"genCAWithKey":             func(r *run) any { return r.authorityWithKey },
	"genSelfSignedCert":        func(r *run) any { return r.selfSigned },
	"genSelfSignedCertWithKey": func(r *run) any { return r.selfSignedWithKey },
	"genSignedCert":            func(r *run) any { return r.signed },
	"genSignedCertWithKey":     func(r *run) any { return r.signedWithKey },
	"buildCustomCert":          func(r *run) any { return buildCertificate },
}

const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	// longestRandom is the maximum length of a generated text.
	longestRandom = 10_000
	// costOfSignature is the cost of elliptic-curve keys and signatures in steps.
	costOfSignature = 4_000
	bitsOfKey       = 4096
	bitsOfCertified = 2048
)

// printable returns the printable characters of ASCII, including the space.
func printable() string {
	var all []byte
	for c := byte(32); c < 127; c++ {
		all = append(all, c)
	}
	return string(all)
}

// made reports a generated text.
func (r *run) made(function, text string) (string, error) {
	if r.input.Generated != nil {
		r.input.Generated(function, text)
	}
	return text, r.meter.Build(int64(len(text)))
}

// whole converts an integer of any type.
func whole(value any) (int64, error) {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return v.Int(), nil
	case v.CanFloat() && v.Float() == float64(int64(v.Float())):
		return int64(v.Float()), nil
	}
	return 0, template.Problemf("an integer is required here")
}

func (r *run) length(value any) (int, error) {
	n, err := whole(value)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > longestRandom {
		return 0, template.Problemf("the length must be from 0 to %d", longestRandom)
	}
	return int(n), r.meter.Step(n)
}

func (r *run) randomText(function, characters string) func(length any) (string, error) {
	return func(length any) (string, error) {
		n, err := r.length(length)
		if err != nil {
			return "", err
		}
		return r.made(function, r.input.Entropy.Text([]rune(characters), n))
	}
}

func (r *run) randomBytes(length any) (string, error) {
	n, err := r.length(length)
	if err != nil {
		return "", err
	}
	return r.made("randBytes", base64.StdEncoding.EncodeToString(r.input.Entropy.Bytes(n)))
}

func (r *run) randomInteger(least, limit any) (int64, error) {
	from, err := whole(least)
	if err != nil {
		return 0, err
	}
	to, err := whole(limit)
	if err != nil {
		return 0, err
	}
	if to <= from || to-from < 0 {
		return 0, template.Problemf("the second number must be greater than the first")
	}
	return from + r.input.Entropy.Below(to-from), nil
}

func (r *run) uuid() (string, error) {
	id := r.input.Entropy.Bytes(16)
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return r.made("uuidv4", fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]))
}

func (r *run) shuffle(text string) (string, error) {
	if err := r.meter.Step(int64(len(text))); err != nil {
		return "", err
	}
	characters := []rune(text)
	for i := len(characters) - 1; i > 0; i-- {
		j := r.input.Entropy.Below(int64(i) + 1)
		characters[i], characters[j] = characters[j], characters[i]
	}
	return r.made("shuffle", string(characters))
}

func (r *run) privateKey(kind string) (string, error) {
	var key crypto.PrivateKey
	var err error
	switch kind {
	case "rsa", "":
		key, err = r.newRSA(bitsOfKey)
	case "ecdsa":
		key, err = keys.ECDSA(r.input.Entropy, "P256")
	case "ed25519":
		key, err = keys.Ed25519(r.input.Entropy)
	default:
		return "", template.Problemf("the kind of key must be rsa, ecdsa or ed25519")
	}
	if err != nil {
		return "", shown(err)
	}
	text, err := keys.PEM(key)
	if err != nil {
		return "", shown(err)
	}
	if err := r.meter.Step(costOfSignature); err != nil {
		return "", err
	}
	return r.made("genPrivateKey", text)
}

func (r *run) newRSA(bits int) (crypto.Signer, error) {
	if err := r.meter.Step(keys.CostOfRSA(bits)); err != nil {
		return nil, err
	}
	return keys.RSA(r.input.Entropy, bits)
}

// shown allows users to see an error of the package keys, which contains nothing of its input.
func shown(err error) error {
	if template.Explain(err) != "" {
		return err
	}
	return template.Problemf("%s", err)
}

// Certificate is a certificate with its private key, both in PEM format.
type Certificate struct{ Cert, Key string }

// request describes a certificate to create.
type request struct {
	function, name string
	hosts          []string
	days           any
	isCA           bool
	// key is the private key of the certificate; empty asks for a new one.
	key string
	// issuer signs the certificate; nil means self-signed.
	issuer *Certificate
}

func (r *run) certify(q request) (*Certificate, error) {
	days, err := whole(q.days)
	if err != nil {
		return nil, err
	}
	key, err := r.keyOf(q.key)
	if err != nil {
		return nil, shown(err)
	}
	from := r.input.Entropy.Now()
	wanted := keys.Certificate{
		Subject: pkix.Name{CommonName: q.name}, Hosts: q.hosts, From: from, Until: from.Add(time.Duration(days) * 24 * time.Hour), IsCA: q.isCA,
		Usage:    x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		Extended: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		Public:   key.Public(), Signer: key,
	}
	if q.isCA {
		wanted.Usage |= x509.KeyUsageCertSign
	}
	if q.issuer != nil {
		if wanted.Issuer, err = keys.ParseCertificate(q.issuer.Cert); err != nil {
			return nil, shown(err)
		}
		if wanted.Signer, err = keys.ParsePrivate(q.issuer.Key); err != nil {
			return nil, shown(err)
		}
	}
	return r.sign(q, wanted, key)
}

func (r *run) sign(q request, wanted keys.Certificate, key crypto.Signer) (*Certificate, error) {
	if err := r.meter.Step(costOfSignature); err != nil {
		return nil, err
	}
	certificate, err := wanted.Sign(r.input.Entropy)
	if err != nil {
		return nil, shown(err)
	}
	private, err := keys.PEM(key)
	if err != nil {
		return nil, shown(err)
	}
	for _, text := range []string{certificate, private} {
		if _, err := r.made(q.function, text); err != nil {
			return nil, err
		}
	}
	return &Certificate{Cert: certificate, Key: private}, nil
}

func (r *run) keyOf(text string) (crypto.Signer, error) {
	if text == "" {
		return r.newRSA(bitsOfCertified)
	}
	return keys.ParsePrivate(text)
}

func (r *run) authority(name string, days any) (*Certificate, error) {
	return r.certify(request{function: "genCA", name: name, days: days, isCA: true})
}

func (r *run) authorityWithKey(name string, days any, key string) (*Certificate, error) {
	return r.certify(request{function: "genCAWithKey", name: name, days: days, isCA: true, key: key})
}

func (r *run) selfSigned(name string, addresses, hosts []any, days any) (*Certificate, error) {
	return r.certify(request{function: "genSelfSignedCert", name: name, hosts: hostsOf(addresses, hosts), days: days})
}

//lint:allow parameters the template calls it with these
func (r *run) selfSignedWithKey(name string, addresses, hosts []any, days any, key string) (*Certificate, error) {
	return r.certify(request{function: "genSelfSignedCertWithKey", name: name, hosts: hostsOf(addresses, hosts), days: days, key: key})
}

//lint:allow parameters the template calls it with these
func (r *run) signed(name string, addresses, hosts []any, days any, issuer *Certificate) (*Certificate, error) {
	return r.certify(request{function: "genSignedCert", name: name, hosts: hostsOf(addresses, hosts), days: days, issuer: issuer})
}

//lint:allow parameters the template calls it with these
func (r *run) signedWithKey(name string, addresses, hosts []any, days any, issuer *Certificate, key string) (*Certificate, error) {
	return r.certify(request{
		function: "genSignedCertWithKey",
		name:     name,
		hosts:    hostsOf(addresses, hosts),
		days:     days,
		issuer:   issuer,
		key:      key,
	})
}

func hostsOf(lists ...[]any) []string {
	var hosts []string
	for _, list := range lists {
		for _, host := range list {
			hosts = append(hosts, fmt.Sprint(host))
		}
	}
	return hosts
}

// buildCertificate combines a certificate and its key, both base64-encoded.
func buildCertificate(certificate, key string) (*Certificate, error) {
	decoded := make([]string, 2)
	for i, text := range []string{certificate, key} {
		content, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, template.Problemf("the certificate and its key must be encoded as base64")
		}
		decoded[i] = string(content)
	}
	if _, err := keys.ParseCertificate(decoded[0]); err != nil {
		return nil, shown(err)
	}
	if _, err := keys.ParsePrivate(decoded[1]); err != nil {
		return nil, shown(err)
	}
	return &Certificate{Cert: decoded[0], Key: decoded[1]}, nil
}
