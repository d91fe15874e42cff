// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"espalier.dev/internal/template"
	"espalier.dev/internal/template/keys"
)

// generators are the functions whose results would otherwise be random. They use the entropy of the run, and can be called
// only if the state keeps the result.
var generators = map[string]builtin{
	"rand": callRand, "x509genkey": callGenerateKey, "x509cert": callCertificate, "wggenkey": callWireGuardKey,
	"bcrypt": callBcrypt, "md5crypt": callMD5Crypt, "encrypt": callEncrypt,
}

// The costs of generators in steps. Keys and certificates are expensive.
const (
	costOfGenerating = 20
	costOfCurveKey   = 2_000
	costOfSignature  = 4_000
)

// refuseGenerator returns the error of a generator that cannot be called here, or nil if it can.
func (e *env) refuseGenerator(name string) error {
	switch {
	case e.run.entropy == nil:
		return e.fatal(template.Problemf("%s", refusalOf(name, false)))
	case !e.kept:
		return e.fatal(template.Problemf("function %s is available only for values that are kept because %s", name, becauseNotKept))
	}
	return nil
}

// callRand generates an integer, a boolean, or a text of characters of a class.
func callRand(c *invocation) (value, error) {
	if err := c.takes(0, 2); err != nil {
		return nil, err
	}
	if err := c.env.run.meter.Step(costOfGenerating); err != nil {
		return nil, err
	}
	entropy := c.env.run.entropy
	if len(c.args) == 0 {
		return entropy.Below(math.MaxInt64), nil
	}
	switch v := c.args[0].(type) {
	case string:
		return c.randomText(v)
	case bool:
		return entropy.Below(2) == 1, c.takes(1, 1)
	case int64:
		return c.randomInteger(v)
	}
	return nil, c.wrong(0, "an integer, a boolean or a class of characters")
}

func (c *invocation) randomInteger(limit int64) (value, error) {
	switch {
	case len(c.args) > 1:
		return nil, c.takes(1, 1)
	case limit > 0:
		return c.env.run.entropy.Below(limit), nil
	case limit < 0 && limit > math.MinInt64:
		return -c.env.run.entropy.Below(-limit), nil
	}
	return nil, problem("function rand: the limit must not be zero")
}

// longestRandom is the maximum length of a text that rand generates.
const longestRandom = 10_000

func (c *invocation) randomText(class string) (value, error) {
	length := int64(1)
	if len(c.args) == 2 {
		var err error
		if length, err = c.integer(1); err != nil {
			return nil, err
		}
	}
	if length < 1 || length > longestRandom {
		return nil, problem("function rand: the length must be from 1 to %d", longestRandom)
	}
	characters, err := c.characters(class)
	if err != nil {
		return nil, err
	}
	if err := c.env.run.meter.Step(length); err != nil {
		return nil, err
	}
	return c.env.run.entropy.Text(characters, int(length)), c.build(length)
}

// characters returns the ASCII characters of a class.
func (c *invocation) characters(class string) ([]rune, error) {
	expression, err := c.env.run.meter.Regexp("^["+class+"]$", "")
	if err != nil {
		return nil, problem("function rand: the text is not a class of characters, such as [:alnum:] or a-z")
	}
	if err := c.env.run.meter.Step(regexpCost); err != nil {
		return nil, err
	}
	return matchingASCII(expression)
}

// regexpCost is the cost of examining all ASCII characters in steps.
const regexpCost = 128

func matchingASCII(expression *regexp.Regexp) ([]rune, error) {
	var characters []rune
	for r := rune(0); r < 128; r++ {
		if expression.MatchString(string(r)) {
			characters = append(characters, r)
		}
	}
	if len(characters) == 0 {
		return nil, problem("function rand: the class has no characters")
	}
	return characters, nil
}

// callGenerateKey generates an RSA key of a given length, or a key on a curve.
func callGenerateKey(c *invocation) (value, error) {
	if err := c.takes(0, 1); err != nil {
		return nil, err
	}
	bits, curve := int64(2048), ""
	if len(c.args) == 1 {
		switch v := c.args[0].(type) {
		case int64:
			bits = v
		case string:
			if n, err := strconv.ParseInt(v, 10, 32); err == nil {
				bits = n
			} else {
				curve = v
			}
		default:
			return nil, c.wrong(0, "a number of bits or the name of a curve")
		}
	}
	if curve != "" {
		if err := c.env.run.meter.Step(costOfCurveKey); err != nil {
			return nil, err
		}
		key, err := keys.ECDSA(c.env.run.entropy, curve)
		return c.keyText(key, err)
	}
	if bits < keys.SmallestRSA || bits > keys.LargestRSA {
		return nil, problem("function %s: %s", c.name, keys.ErrSize)
	}
	if err := c.env.run.meter.Step(keys.CostOfRSA(int(bits))); err != nil {
		return nil, err
	}
	key, err := keys.RSA(c.env.run.entropy, int(bits))
	return c.keyText(key, err)
}

// keyText encodes a private key.
func (c *invocation) keyText(key crypto.PrivateKey, err error) (value, error) {
	if err != nil {
		return nil, problem("function %s: %s", c.name, err)
	}
	return c.made(keys.PEM(key))
}

func callWireGuardKey(c *invocation) (value, error) {
	if err := c.takes(0, 1); err != nil {
		return nil, err
	}
	if err := c.env.run.meter.Step(costOfGenerating); err != nil {
		return nil, err
	}
	if len(c.args) == 1 && c.args[0] == "preshared" {
		return base64.StdEncoding.EncodeToString(c.env.run.entropy.Bytes(32)), nil
	}
	if len(c.args) == 1 && c.args[0] != "private" {
		return nil, problem("function wggenkey: the kind of key must be private or preshared")
	}
	key, err := keys.WireGuard(c.env.run.entropy)
	if err != nil {
		return nil, problem("function wggenkey: %s", err)
	}
	return base64.StdEncoding.EncodeToString(key), nil
}

func callWireGuardPublic(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	if err := c.env.run.meter.Step(costOfCurveKey); err != nil {
		return nil, err
	}
	private, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, problem("function wgpublickey: the text is not a key")
	}
	public, err := keys.WireGuardPublic(private)
	if err != nil {
		return nil, problem("function wgpublickey: the text is not a key")
	}
	return base64.StdEncoding.EncodeToString(public), nil
}

// callPublicKey returns the public key of a private key or a certificate.
func callPublicKey(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	form := "pem"
	if len(c.args) == 2 {
		if form, err = c.text(1); err != nil {
			return nil, err
		}
		form = strings.ToLower(form)
	}
	if form != "pem" && form != "pkix" && form != "ssh" {
		return nil, problem("function x509publickey: the form must be pem, pkix or ssh")
	}
	if err := c.env.run.meter.Step(costOfCurveKey); err != nil {
		return nil, err
	}
	key, err := keys.PublicOf(text)
	if err != nil {
		return nil, problem("function x509publickey: argument 1 must be a private key, a public key or a certificate in PEM format")
	}
	return c.publicText(key, form)
}

func (c *invocation) publicText(key crypto.PublicKey, form string) (value, error) {
	if form == "ssh" {
		return c.made(keys.PublicSSH(key))
	}
	return c.made(keys.PublicPEM(key, form == "pkix"))
}

// dateForm is the date format of certificates in the language.
const dateForm = "Jan 2 15:04:05 2006"

// callCertificate creates a certificate, self-signed or signed by an authority.
func callCertificate(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	d, err := c.dict(0)
	if err != nil {
		return nil, err
	}
	if err := c.env.run.meter.Step(costOfSignature); err != nil {
		return nil, err
	}
	f := &fields{dict: d}
	wanted := f.certificate(c.env.run.entropy)
	if f.wrong != nil {
		return nil, f.wrong
	}
	return c.made(wanted.Sign(c.env.run.entropy))
}

// fields reads the fields of a certificate and records the first invalid one.
type fields struct {
	dict  *dict
	wrong error
}

func (f *fields) fail(name, what string) {
	if f.wrong == nil {
		f.wrong = problem("function x509cert: the field %s %s", name, what)
	}
}

// text returns a field, empty if it is missing.
func (f *fields) text(name string) string {
	c := f.dict.get(name)
	if c == nil || c.value == nil {
		return ""
	}
	text, ok := simpleText(c.value)
	if !ok {
		f.fail(name, "must be a text")
	}
	return text
}

// texts returns a field that is a list or a single text.
func (f *fields) texts(name string) []string {
	c := f.dict.get(name)
	if c == nil {
		return nil
	}
	l, ok := c.value.(*list)
	if !ok {
		if text := f.text(name); text != "" {
			return []string{text}
		}
		return nil
	}
	var texts []string
	for _, item := range l.cells {
		text, ok := simpleText(item.value)
		if !ok {
			f.fail(name, "must be a list of texts")
		}
		texts = append(texts, text)
	}
	return texts
}

func (f *fields) certificate(entropy *template.Entropy) keys.Certificate {
	c := keys.Certificate{
		Subject: pkix.Name{CommonName: f.text("commonName"), Organization: f.texts("organization"), Country: f.texts("country")},
		Hosts:   f.texts("hosts"),
		IsCA:    f.dict.get("isCA") != nil && truth(f.dict.get("isCA").value),
	}
	f.usage(&c)
	f.validity(&c, entropy)
	f.keys(&c)
	return c
}

func (f *fields) usage(c *keys.Certificate) {
	for _, name := range f.texts("usage") {
		lower := strings.ToLower(name)
		switch {
		case keyUsages[lower] != 0:
			c.Usage |= keyUsages[lower]
		case extendedUsages[lower] != nil:
			c.Extended = append(c.Extended, *extendedUsages[lower])
		default:
			f.fail("usage", "contains an unknown usage")
		}
	}
	if c.IsCA || c.Usage&x509.KeyUsageCertSign != 0 {
		c.IsCA = true
		c.Usage |= x509.KeyUsageCertSign
	}
}

func (f *fields) validity(c *keys.Certificate, entropy *template.Entropy) {
	hours := int64(24 * 365)
	if text := f.text("validity"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			f.fail("validity", "must be a number of hours")
		}
		hours = n
	}
	c.From = entropy.Now()
	if text := f.text("validFrom"); text != "" {
		from, err := time.Parse(dateForm, text)
		if err != nil {
			f.fail("validFrom", "must be a date such as "+dateForm)
		}
		c.From = from
	}
	c.Until = c.From.Add(time.Duration(hours) * time.Hour)
}

// keys reads the keys: the one to certify, and the one that signs.
func (f *fields) keys(c *keys.Certificate) {
	if text := f.text("privateKey"); text != "" {
		key, err := keys.ParsePrivate(text)
		if err != nil {
			f.fail("privateKey", "must be a private key in PEM format")
			return
		}
		c.Signer, c.Public = key, key.Public()
	}
	if text := f.text("publicKey"); text != "" {
		key, err := keys.ParsePublic(text)
		if err != nil {
			f.fail("publicKey", "must be a public key in PEM format")
		}
		c.Public = key
	}
	if text := f.text("caCert"); text != "" {
		f.authority(c, text)
	}
	switch {
	case c.Public == nil:
		f.fail("privateKey", "is missing, and so is publicKey")
	case c.Signer == nil:
		f.fail("privateKey", "is needed to sign the certificate")
	}
}

func (f *fields) authority(c *keys.Certificate, text string) {
	var err error
	if c.Issuer, err = keys.ParseCertificate(text); err != nil {
		f.fail("caCert", "must be a certificate in PEM format")
	}
	if c.Signer, err = keys.ParsePrivate(f.text("caPrivateKey")); err != nil {
		f.fail("caPrivateKey", "must be the private key to caCert")
	}
}

// callParseCertificate returns the content of a certificate. Its validity is given as start and end: the remaining time
// depends on the clock.
func callParseCertificate(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	if err := c.env.run.meter.Step(costOfCurveKey); err != nil {
		return nil, err
	}
	parsed, err := keys.ParseCertificate(text)
	if err != nil {
		return nil, problem("function x509parsecert: %s", err)
	}
	public, err := c.publicText(parsed.PublicKey, "pem")
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, address := range parsed.IPAddresses {
		addresses = append(addresses, address.String())
	}
	d := newDict(11)
	d.set("isCA", done(parsed.IsCA))
	d.set("publicKey", done(public))
	d.set("validFrom", done(parsed.NotBefore.Format(dateForm)))
	d.set("validUntil", done(parsed.NotAfter.Format(dateForm)))
	d.set("validity", done(int64(parsed.NotAfter.Sub(parsed.NotBefore)/time.Hour)))
	d.set("usage", done(textList(usageNames(parsed))))
	if parsed.Subject.CommonName != "" {
		d.set("commonName", done(parsed.Subject.CommonName))
	}
	for name, texts := range map[string][]string{
		"country": parsed.Subject.Country, "organization": parsed.Subject.Organization, "dnsNames": parsed.DNSNames,
		"ipAddresses": addresses, "hosts": append(addresses, parsed.DNSNames...),
	} {
		if len(texts) > 0 {
			d.set(name, done(textList(texts)))
		}
	}
	return d, c.build(int64(len(text)))
}

// usages are the usages of a key, by their names in the language.
var usages = []struct {
	name  string
	usage x509.KeyUsage
}{
	{"Signature", x509.KeyUsageDigitalSignature}, {"ContentCommitment", x509.KeyUsageContentCommitment},
	{"KeyEncipherment", x509.KeyUsageKeyEncipherment}, {"DataEncipherment", x509.KeyUsageDataEncipherment},
	{"KeyAgreement", x509.KeyUsageKeyAgreement}, {"CertSign", x509.KeyUsageCertSign}, {"CRLSign", x509.KeyUsageCRLSign},
	{"EncipherOnly", x509.KeyUsageEncipherOnly}, {"DecipherOnly", x509.KeyUsageDecipherOnly},
}

// extended are the extended usages.
var extended = []struct {
	name  string
	usage x509.ExtKeyUsage
}{
	{"Any", x509.ExtKeyUsageAny}, {"ServerAuth", x509.ExtKeyUsageServerAuth}, {"ClientAuth", x509.ExtKeyUsageClientAuth},
	{"CodeSigning", x509.ExtKeyUsageCodeSigning}, {"EmailProtection", x509.ExtKeyUsageEmailProtection},
	{
		"IPSECEndSystem",
		x509.ExtKeyUsageIPSECEndSystem,
	}, {"IPSECTunnel", x509.ExtKeyUsageIPSECTunnel}, {"IPSECUser", x509.ExtKeyUsageIPSECUser},
	{"TimeStamping", x509.ExtKeyUsageTimeStamping}, {"OCSPSigning", x509.ExtKeyUsageOCSPSigning},
	{
		"MicrosoftServerGatedCrypto",
		x509.ExtKeyUsageMicrosoftServerGatedCrypto,
	}, {"NetscapeServerGatedCrypto", x509.ExtKeyUsageNetscapeServerGatedCrypto},
	{
		"MicrosoftCommercialCodeSigning",
		x509.ExtKeyUsageMicrosoftCommercialCodeSigning,
	}, {"MicrosoftKernelCodeSigning", x509.ExtKeyUsageMicrosoftKernelCodeSigning},
}

var (
	keyUsages      = map[string]x509.KeyUsage{"commitment": x509.KeyUsageContentCommitment}
	extendedUsages = map[string]*x509.ExtKeyUsage{}
)

func init() {
	for _, u := range usages {
		keyUsages[strings.ToLower(u.name)] = u.usage
	}
	for i := range extended {
		extendedUsages[strings.ToLower(extended[i].name)] = &extended[i].usage
	}
}

func usageNames(certificate *x509.Certificate) []string {
	names := []string{}
	for _, u := range usages {
		if certificate.KeyUsage&u.usage != 0 {
			names = append(names, u.name)
		}
	}
	for _, used := range certificate.ExtKeyUsage {
		for _, u := range extended {
			if u.usage == used {
				names = append(names, u.name)
			}
		}
	}
	return names
}

// isPEM converts a parser of keys to a condition.
func isPEM[T any](parse func(string) (T, error)) func(string) bool {
	return func(text string) bool {
		_, err := parse(text)
		return err == nil
	}
}

func isAuthority(text string) bool {
	certificate, err := keys.ParseCertificate(text)
	return err == nil && certificate.IsCA
}
