// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mandelsoft/spiff/spiffing"

	"espalier.dev/internal/template"
)

// example is a template and its result. The original engine has the same result, unless differs is set.
type example struct {
	name, text, want string
	// differs is the reason why the original engine has another result.
	differs string
	// floats reports whether Landscaper has another result because all imported numbers are floats there.
	floats bool
}

// Certificates that another program has issued: that of a server, and an authority with all other usages and no names.
const (
	serverCertificate = `-----BEGIN CERTIFICATE-----
MIICQTCCAeegAwIBAgICEAAwCgYIKoZIzj0EAwIwUzELMAkGA1UEBhMCREUxCjAI
BgNVBAgMAXMxCjAIBgNVBAcMAWwxEDAOBgNVBAoMB0V4YW1wbGUxDTALBgNVBAsM
BHVuaXQxCzAJBgNVBAMMAmNhMCAXDTI0MDEwMjAzMDQwNVoYDzIwNzQwMTAyMDMw
NDA1WjA2MQswCQYDVQQGEwJERTEQMA4GA1UECgwHRXhhbXBsZTEVMBMGA1UEAwwM
c2hvcC5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQq08Jm/Fzr4/
G3+6lahmKRpoB7Q36RD5XNny9UzP2ll7sYc/EpexHI9V4w4+rQTv2kk9/o+Y1Imv
+2ZPb2DZI6OBxTCBwjA/BgNVHREEODA2ggxzaG9wLmV4YW1wbGWCDiouc2hvcC5l
eGFtcGxlhwQKAAABhxAgAQ24AAAAAAAAAAAAAAABMAsGA1UdDwQEAwIFoDAnBgNV
HSUEIDAeBggrBgEFBQcDAQYIKwYBBQUHAwIGCCsGAQUFBwMDMAkGA1UdEwQCMAAw
HQYDVR0OBBYEFDEBqOrT7xpbn3DprTpNSVJ2jPI7MB8GA1UdIwQYMBaAFGt4CeKb
DPBd9ddaSm8uoyBrji2VMAoGCCqGSM49BAMCA0gAMEUCIDQjliIbiLRizDEKi4x/
KWid2Ako0zV884vi9K2PLLdtAiEAtZLTYC5frUIQWBeni9vsxXipQoNb0XY8B+qK
7Pqsbz4=
-----END CERTIFICATE-----
`
	authorityCertificate = `-----BEGIN CERTIFICATE-----
MIICJDCCAcqgAwIBAgICEAEwCgYIKoZIzj0EAwIwUzELMAkGA1UEBhMCREUxCjAI
BgNVBAgMAXMxCjAIBgNVBAcMAWwxEDAOBgNVBAoMB0V4YW1wbGUxDTALBgNVBAsM
BHVuaXQxCzAJBgNVBAMMAmNhMCAXDTI0MDEwMjAzMDQwNVoYDzIwNzQwMTAyMDMw
NDA1WjAAMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQq08Jm/Fzr4/G3+6lahm
KRpoB7Q36RD5XNny9UzP2ll7sYc/EpexHI9V4w4+rQTv2kk9/o+Y1Imv+2ZPb2DZ
I6OB3jCB2zAMBgNVHQ8EBQMDB1+AMHoGA1UdJQRzMHEGBFUdJQAGCCsGAQUFBwME
BggrBgEFBQcDCAYIKwYBBQUHAwkGCisGAQQBgjcKAwMGCWCGSAGG+EIEAQYIKwYB
BQUHAwUGCCsGAQUFBwMGBggrBgEFBQcDBwYKKwYBBAGCNwIBFgYKKwYBBAGCNz0B
ATAPBgNVHRMBAf8EBTADAQH/MB0GA1UdDgQWBBQxAajq0+8aW59w6a06TUlSdozy
OzAfBgNVHSMEGDAWgBRreAnimwzwXfXXWkpvLqMga44tlTAKBggqhkjOPQQDAgNI
ADBFAiAKfsPm5HuQKJCNBNjfYzTI1GJBHQYuv9tRfnx1jZe/iwIhAMFvrjVwFqUy
wiYHnF2ERTSIh+Eor2HrAVfKZWVBTKt6
-----END CERTIFICATE-----
`
)

// certificates is the beginning of a template that sees both, parsed.
var certificates = "server: '(( &temporary(x509parsecert(" + jsonText(serverCertificate) + ")) ))'\n" +
	"authority: '(( &temporary(x509parsecert(" + jsonText(authorityCertificate) + ")) ))'\n"

var languageExamples = []example{
	// Values.
	{name: "no expression", text: "a: [1, x, {b: null}]", want: "a: [1, x, {b: null}]"},
	{
		name: "a literal of every type",
		text: `a: (( ["x", 1, -2, 1.5, 1e3, true, false, nil, ~, $sym, 10.0.0.1, 1_000] ))`,
		want: "a: [x, 1, -2, 1.5, 1000, true, false, null, null, sym, 10.0.0.1, 1000]",
	},
	{name: "escapes in strings", text: `a: (( "x\"y\n\u0041" ))`, want: `a: "x\"y\nA"`},
	{name: "empty collections", text: "a: (( [] ))\nb: (( {} ))", want: "a: []\nb: {}"},
	{name: "a map", text: `a: (( { "x" = 1, $y = [2], "z" "z" = {} } ))`, want: "a: {x: 1, y: [2], zz: {}}"},
	{
		name: "a range",
		text: "a: (( [1..4] ))\nb: (( [3..1] ))\nc: (( [2..2] ))\nd: (( [-1..1] ))",
		want: "a: [1, 2, 3, 4]\nb: [3, 2, 1]\nc: [2]\nd: [-1, 0, 1]",
	},
	{name: "an escaped expression", text: "a: ((! x ))\nb: ((!!))", want: "a: (( x ))\nb: ((!))"},
	{name: "an escaped insertion", text: "a: {<<!: (( 1 )), <<<!: x}", want: `a: {"<<": 1, "<<<": x}`},
	{name: "text around an expression", text: "a: x (( y )) z", want: "a: x (( y )) z"},
	{name: "a document that is an expression", text: "(( imports.name ))", want: "alice"},
	{name: "a document that is a list", text: "- (( imports.name ))\n- name: x\n  v: (( name ))", want: "[alice, {name: x, v: x}]"},
	{
		name:    "integers stay integers",
		text:    "a: (( imports.million ))\nb: (( imports.million * 3 ))\nc: (( imports ))",
		want:    "a: 1000000\nb: 3000000\nc: {name: alice, count: 3, million: 1000000, ratio: 0.5, enabled: true, nothing: null, list: [a, b, c], numbers: [3, 1, 2], map: {b: 2, a: 1, nested: {deep: value}}, items: [{name: one, v: 1}, {name: two, v: 2}], code: '(( imports.name ))'}",
		differs: "it evaluates strings of the input",
	},
	{
		name:    "data is not evaluated",
		text:    "a: (( imports.code ))\nb: (( \"(( \" \"imports.name ))\" ))",
		want:    "a: (( imports.name ))\nb: (( imports.name ))",
		differs: "it evaluates strings that look like expressions",
	},

	{
		name: "floats stay floats",
		text: "x: 2.0\na: (( x / 10 ))\nb: (( parse(\"7.0\") / 2 ))\nc: '(( parse(\"{\\\"y\\\": 1.0}\").y / 4 ))'\nd: (( x ))",
		want: "x: 2\na: 0.2\nb: 3.5\nc: 0.25\nd: 2",
	},
	{name: "a distinguishing field without an expression", text: "l:\n- key:id: p\n  v: 1", want: "l: [{id: p, v: 1}]"},
	{name: "an insertion without an expression", text: "a: {<<<: {b: 1, c: 2}, c: 3}\nd: {<<!: x}", want: "a: {b: 1, c: 3}\nd: {\"<<\": x}"},

	// References.
	{name: "bindings", text: "a: (( imports.name ))\nb: (( imports.map.nested.deep ))", want: "a: alice\nb: value"},
	{name: "the nearest name", text: "x: 1\na:\n  x: 2\n  b: (( x ))\nc: (( x ))", want: "x: 1\na: {x: 2, b: 2}\nc: 1"},
	{
		name: "a name hides a binding",
		text: "imports: {name: bob}\na: (( imports.name ))\nb: (( ___.imports.name ))\nc: (( __ctx.OUTER[0].imports.name ))\nd: (( __ctx.BINDINGS.imports.name ))",
		want: "imports: {name: bob}\na: bob\nb: alice\nc: alice\nd: alice",
	},
	{name: "from the root", text: "x: 1\na:\n  x: 2\n  b: (( .x ))", want: "x: 1\na: {x: 2, b: 1}"},
	{
		name: "indexes",
		text: "l: [10, 20, 30]\na: (( l.[0] ))\nb: (( l[1] ))\nc: (( l[-1] ))\nd: (( imports.items[1].v ))",
		want: "l: [10, 20, 30]\na: 10\nb: 20\nc: 30\nd: 2",
	},
	{
		name: "items by name",
		text: "a: (( imports.items.two.v ))\nb: (( imports.items.name:one.v ))\nl: [{id: p, v: 5}]\nc: (( l.id:p.v ))",
		want: "a: 2\nb: 1\nl: [{id: p, v: 5}]\nc: 5",
	},
	{
		name: "computed paths",
		text: "k: name\ni: 1\na: (( imports.[k] ))\nb: (( imports.list.[i] ))\nc: (( imports.map.[[\"nested\", \"deep\"]] ))\nd: (( imports.items.[i].v ))\nx-y: 5\ne: (( .[\"x-y\"] ))",
		want: "k: name\ni: 1\na: alice\nb: b\nc: value\nd: 2\nx-y: 5\ne: 5",
	},
	{
		name: "parts of lists",
		text: "l: [0, 1, 2, 3]\na: (( l.[1..2] ))\nb: (( l.[2..] ))\nc: (( l.[..1] ))\nd: (( l.[-2..-1] ))\ne: (( l[1..2] ))",
		want: "l: [0, 1, 2, 3]\na: [1, 2]\nb: [2, 3]\nc: [0, 1]\nd: [2, 3]\ne: [1, 2]",
	},
	{
		name: "projections",
		text: "a: (( imports.items.[*].v ))\nb: (( imports.map.nested.[*] ))\nc: (( imports.items.[0..0].name ))",
		want: "a: [1, 2]\nb: [value]\nc: [one]",
	},
	{name: "keys with other characters", text: "a-b: 1\nc_d: 2\ne: (( a-b + c_d ))", want: "a-b: 1\nc_d: 2\ne: 3"},
	{
		name: "a chain in any order",
		text: "a: (( b ))\nb: (( c ))\nc: (( d.e ))\nd: {e: (( f ))}\nf: end",
		want: "a: end\nb: end\nc: end\nd: {e: end}\nf: end",
	},
	{
		name: "a part of a map that is not complete",
		text: "a: {p: (( a.q )), q: 1, r: (( b ))}\nb: (( a.p ))",
		want: "a: {p: 1, q: 1, r: 1}\nb: 1",
	},
	{name: "an item of the same list", text: "l:\n- 1\n- (( .l[0] + 1 ))\n- (( .l[1] + 1 ))", want: "l: [1, 2, 3]"},
	{
		name: "what an expression knows about its place",
		text: "a:\n  b: (( __ctx.PATHNAME ))\n  c: (( __ctx.PATH ))",
		want: "a: {b: a.b, c: [a, c]}",
	},
	{
		name:    "a name that begins like a word",
		text:    "trueish: 1\nnilable: 2\nmerged: 3\nautomatic: 4\na: (( trueish + nilable + merged + automatic ))",
		want:    "trueish: 1\nnilable: 2\nmerged: 3\nautomatic: 4\na: 10",
		differs: "it cannot read names that begin with a word of the language",
	},

	// Tags.
	{
		name: "a tag of a map",
		text: "lib:\n  <<: (( &temporary &tag:lib ))\n  f: (( |x|->x * _.factor ))\n  factor: 3\n  deep: {l: [1, 2]}\na: (( lib::f(2) ))\nb: (( lib::deep.l[1] ))\nc: (( lib::deep ))",
		want: "a: 6\nb: 2\nc: {l: [1, 2]}",
	},
	{
		name: "a tag of a value",
		text: "x:\n  w: (( &tag:alice(25) ))\na: (( alice::. ))\nb: (( alice::. + 1 ))",
		want: "x: {w: 25}\na: 25\nb: 26",
	},
	{
		name: "a tag of a list",
		text: "x:\n- <<: (( &tag:l ))\n- 1\n- {name: m, v: 2}\na: (( l::. ))\nb: (( l::m.v ))",
		want: "x: [1, {name: m, v: 2}]\na: [1, {name: m, v: 2}]\nb: 2",
	},
	{name: "a tag of a lambda", text: "x: (( &temporary &tag:f(|x|->x + 1) ))\na: (( f::.(2) ))", want: "a: 3"},
	{
		name: "a tag of a template",
		text: "t:\n  <<: (( &temporary &template &tag:t ))\n  v: (( x ))\nx: 1\na: (( *t::. ))",
		want: "x: 1\na: {v: 1}",
	},
	{
		name: "tags of several parts",
		text: "tags:\n- <<: (( &temporary ))\n- <<: (( &tag:lib.alice ))\n  data: alice\n  own: a\n- <<: (( &tag:lib:alice:v1 ))\n  data: v1\n- <<: (( &tag:*lib.bob ))\n  name: bob\na: (( lib::data ))\nb: (( lib.alice::data ))\nc: (( lib:alice.v1::data ))\nd: (( lib::name ))",
		want: "a: alice\nb: alice\nc: v1\nd: bob",
	},
	{
		name: "a tag that several have",
		text: "x:\n  <<: (( &tag:lib.a ))\n  v: 1\nw:\n  <<: (( &tag:lib.b ))\n  v: 2\na: (( lib::v || \"several\" ))\nb: (( lib::. || \"several\" ))\nc: (( nowhere::v || \"none\" ))\nd: (( lib.a::w || \"nothing\" ))",
		want: "x: {v: 1}\nw: {v: 2}\na: several\nb: several\nc: none\nd: nothing",
	},
	{
		name: "tags that refer to each other",
		text: "x:\n  <<: (( &tag:x ))\n  v: (( w::v + 1 ))\nw:\n  <<: (( &tag:w ))\n  v: (( z::. + 1 ))\nz: (( &tag:z(1) ))",
		want: "x: {v: 3}\nw: {v: 2}\nz: 1",
	},
	{name: "a tag in a map that is inserted", text: "x:\n  <<<:\n    w: (( &tag:w(imports.count) ))\na: (( w::. ))", want: "x: {w: 3}\na: 3"},
	{
		name:    "a tag that is used where it is inserted",
		text:    "x:\n  <<: (( t::. ))\n  w:\n    <<: (( &tag:t ))\n    v: 1",
		want:    "x: {v: 1, w: {v: 1}}",
		differs: "it has tags only after the whole map is evaluated",
	},
	{
		name: "the document itself",
		text: "x: {w: 1}\na:\n  x: 2\n  b: (( doc.0::x.w ))\n  c: (( doc:0::x.w ))\nb: (( doc.1::x || \"none\" ))\nc: (( doc:-1::x || \"none\" ))",
		want: "x: {w: 1}\na: {x: 2, b: 1, c: 1}\nb: none\nc: none",
	},

	// Passwords and networks.
	{
		name: "hashes of passwords",
		text: `a: (( [bcrypt_check("secret", "$2a$04$xjVs6qBKqrPLFStbmyy7LOgtFfCUOcot/5oEPv7bBxvZZMH60y1q6"), bcrypt_check("other", "$2a$04$xjVs6qBKqrPLFStbmyy7LOgtFfCUOcot/5oEPv7bBxvZZMH60y1q6"), bcrypt_check("x", "y"), md5crypt_check("password", "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/"), md5crypt_check("passwort", "$apr1$saltsalt$EudvE/STdybBGETby74fj/"), md5crypt_check("other", "$apr1$saltsalt$EudvE/STdybBGETby74fj/")] ))`,
		want: "a: [true, false, false, true, true, false]",
	},
	{name: "a broken hash", text: `a: (( hash("text", "md4") ))`, want: "a: 7465787431d6cfe0d16ae931b73c59d7e0c089c0"},
	{
		name: "decryption",
		text: `a: (( decrypt("83b5b1b40c92ef444027d9a730800a0ed03d0786e5e787e91f664b94a9b7b965ab4839916f03b06501ab444f02a2a2bae1162f083d482bc6afd463b156a6401b", "this a very secret secret") ))` + "\n" + `c: (( decrypt("83b5b1b40c92ef444027d9a730800a0ed03d0786e5e787e91f664b94a9b7b965ab4839916f03b06501ab444f02a2a2bae1162f083d482bc6afd463b156a6401b", "wrong") || "wrong" ))` + "\n" + `d: (( decrypt("x", "y", "z") || "no method" ))`,
		want: "a: {l: [a, 2], t: secret}\nc: wrong\nd: no method",
	},
	{
		name:    "decryption with a method",
		text:    `a: (( decrypt("83b5b1b40c92ef444027d9a730800a0ed03d0786e5e787e91f664b94a9b7b965ab4839916f03b06501ab444f02a2a2bae1162f083d482bc6afd463b156a6401b", "this a very secret secret", "3DES").l[1] ))`,
		want:    "a: 2",
		differs: "it forgets the key if there is a method",
	},
	{
		name: "a key of SSH",
		text: "a: '(( x509publickey(\"-----BEGIN RSA PUBLIC KEY-----\\nMIGJAoGBAOXB2ccl8VdEShbMTYAcoEA7tvH41WStLD7o10owD926OmsHUCpicevm\\nidzZs0nPw228vjeq0pR9cE5wnjHaSrzqxTcyqA9ez10vKOeQFchOv0JyR2ilgMVJ\\ncMGxs7p2PInntnu4LulFR/GMuxqRrlAuVoLntuR+gI8hLhEBZQodAgMBAAE=\\n-----END RSA PUBLIC KEY-----\\n\", \"ssh\") ))'",
		want: `a: "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDlwdnHJfFXREoWzE2AHKBAO7bx+NVkrSw+6NdKMA/dujprB1AqYnHr5onc2bNJz8NtvL43qtKUfXBOcJ4x2kq86sU3MqgPXs9dLyjnkBXITr9CckdopYDFSXDBsbO6djyJ57Z7uC7pRUfxjLsaka5QLlaC57bkfoCPIS4RAWUKHQ==\n"`,
	},
	{
		name: "the certificate of a server",
		text: certificates + "a: (( [server.commonName, server.country, server.organization, server.dnsNames, server.ipAddresses, server.hosts] ))\n" +
			"b: (( [server.isCA, server.usage, server.validFrom, server.validUntil, server.publicKey] ))",
		want: "a: [shop.example, [DE], [Example], [shop.example, '*.shop.example'], [10.0.0.1, '2001:db8::1'], " +
			"[10.0.0.1, '2001:db8::1', shop.example, '*.shop.example']]\n" +
			"b: [false, [Signature, KeyEncipherment, ServerAuth, ClientAuth, CodeSigning], Jan 2 03:04:05 2024, Jan 2 03:04:05 2074, " +
			`"-----BEGIN ECDSA PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQq08Jm/Fzr4/G3+6lahmKRpoB7Q3\n` +
			`6RD5XNny9UzP2ll7sYc/EpexHI9V4w4+rQTv2kk9/o+Y1Imv+2ZPb2DZIw==\n-----END ECDSA PUBLIC KEY-----\n"]`,
	},
	{
		name: "the certificate of an authority",
		text: certificates + "a: (( [authority.isCA, authority.usage, authority.publicKey == server.publicKey] ))\n" +
			"b: (( [defined(authority.commonName), defined(authority.country), defined(authority.organization)] ))\n" +
			"c: (( [defined(authority.dnsNames), defined(authority.ipAddresses), defined(authority.hosts)] ))",
		want: "a: [true, [ContentCommitment, DataEncipherment, KeyAgreement, CertSign, CRLSign, EncipherOnly, DecipherOnly, Any, EmailProtection, " +
			"TimeStamping, OCSPSigning, MicrosoftServerGatedCrypto, NetscapeServerGatedCrypto, IPSECEndSystem, IPSECTunnel, IPSECUser, " +
			"MicrosoftCommercialCodeSigning, MicrosoftKernelCodeSigning], true]\nb: [false, false, false]\nc: [false, false, false]",
	},
	{
		name:    "the validity of a certificate",
		text:    certificates + "a: (( server.validity ))",
		want:    "a: 438312",
		differs: "it yields the hours that are left",
	},
	{
		name: "sets of addresses",
		text: `a: (( [ipset("10.0.0.0/24", 3), ipset(["10.0.0.5-10.0.0.6", "10.0.1.0/30", "10.1.1.1"], 7), ipset("10.0.0.10 - 10.0.0.20", 2, [3, [4]], 5), ipset("fe80::1-fe80::5", 2), ipset("10.0.0.0/8", 0)] ))` + "\n" + `b: (( [ipset("10.0.0.0/30", 5) || "too many", ipset("10.0.0.0/30", 2, 1) || "too few", ipset("10.0.0.5-10.0.0.4", 1) || "backwards", ipset("x", 1) || "none", ipset("10.0.0.0/24", 1, -1) || "negative"] ))`,
		want: "a: [[10.0.0.0, 10.0.0.1, 10.0.0.2], [10.0.0.5, 10.0.0.6, 10.0.1.0, 10.0.1.1, 10.0.1.2, 10.0.1.3, 10.1.1.1], [10.0.0.13, 10.0.0.14], ['fe80::1', 'fe80::2'], []]\nb: [too many, too few, backwards, none, negative]",
	},
	{
		name:    "a set of addresses of a large network",
		text:    `a: (( ipset("2001:db8::/32", 2, 0, 256) ))`,
		want:    "a: ['2001:db8::', '2001:db8::100']",
		differs: "it takes all networks for those of IPv4",
	},
	{
		name: "static addresses",
		text: "networks:\n- name: net\n  subnets:\n  - static: [10.0.0.5 - 10.0.0.7, 10.0.0.9]\n  - static: [10.0.1.1]\njobs:\n- name: j\n  instances: 2\n  networks:\n  - name: net\n    static_ips: (( static_ips(0, 3, 4) ))\n- name: k\n  instances: 3\n  networks:\n  - name: net\n    static_ips: (( static_ips([1..4]) ))\n- name: l\n  instances: 2\n  networks: [{name: net, ips: (( static_ips(1) || \"too few\" )), none: (( static_ips(5) || \"out of range\" ))}]",
		want: "networks: [{name: net, subnets: [{static: [10.0.0.5 - 10.0.0.7, 10.0.0.9]}, {static: [10.0.1.1]}]}]\njobs: [{name: j, instances: 2, networks: [{name: net, static_ips: [10.0.0.5, 10.0.0.9]}]}, {name: k, instances: 3, networks: [{name: net, static_ips: [10.0.0.6, 10.0.0.7, 10.0.0.9]}]}, {name: l, instances: 2, networks: [{name: net, ips: too few, none: out of range}]}]",
	},
	{
		name:   "the size of a pool",
		text:   "resource_pools:\n- name: small\n  size: (( auto ))\n- {name: large, size: (( auto ))}\n- {name: unused, size: (( auto ))}\njobs: [{name: a, resource_pool: small, instances: 2}, {name: b, resource_pool: large, instances: 1}, {name: c, resource_pool: small, instances: (( imports.count ))}, {name: d}]",
		want:   "resource_pools: [{name: small, size: 5}, {name: large, size: 1}, {name: unused, size: 0}]\njobs: [{name: a, resource_pool: small, instances: 2}, {name: b, resource_pool: large, instances: 1}, {name: c, resource_pool: small, instances: 3}, {name: d}]",
		floats: true,
	},
	{
		name: "the size of a pool that is an entry of a map",
		text: "resource_pools: {small: {size: (( auto ))}}\njobs: [{resource_pool: small, instances: 2}]\na: (( auto || \"elsewhere\" ))",
		want: "resource_pools: {small: {size: 2}}\njobs: [{resource_pool: small, instances: 2}]\na: elsewhere",
	},

	// Operators.
	{
		name: "arithmetic",
		text: "a: (( 1 + 2 * 3 - 4 ))\nb: (( 7 / 2 ))\nc: (( 7 % 4 ))\nd: (( 7.0 / 2 ))\ne: (( (1 + 2) * 3 ))\nf: (( 6 - 3 - 2 ))\ng: (( 1.5 + 1 ))",
		want: "a: 3\nb: 3\nc: 3\nd: 3.5\ne: 9\nf: 1\ng: 2.5",
	},
	{
		name:   "concatenation of texts",
		text:   "a: (( \"x\" 1 true imports.name ))\nb: (( imports.count \"x\" ))",
		want:   "a: x1truealice\nb: 3x",
		floats: true,
	},
	{
		name: "concatenation of lists",
		text: "a: (( [1] [2, 3] 4 ))\nb: (( imports.list nil ))\nc: (( [] {$x=1} ))",
		want: "a: [1, 2, 3, 4]\nb: [a, b, c]\nc: [{x: 1}]",
	},
	{
		name: "concatenation of maps",
		text: "a: (( {$x=1, $y=2} {$y=3, $z=4} ))\nb: (( {$x=1} nil ))",
		want: "a: {x: 1, y: 3, z: 4}\nb: {x: 1}",
	},
	{
		name: "comparison",
		text: `a: (( [1 == 1, 1 != 1, 1 < 2, 2 <= 2, "b" > "a", "a" >= "b", [1] == [1], {$a=1} == {$a=2}, nil == nil, 1 == "1", true == "true", "x" == "x"] ))`,
		want: "a: [true, false, true, true, true, false, true, false, true, true, true, true]",
	},
	{
		name:    "comparison with nothing",
		text:    "a: (( imports.nothing == \"x\" ))\nb: (( nil != 1 ))",
		want:    "a: false\nb: true",
		differs: "it cannot compare nil with anything else",
	},
	{name: "comparison of fractions", text: "a: (( 1.5 == 1.5 ))", want: "a: true", differs: "to it no fraction equals another"},
	{
		name:    "ordering of fractions",
		text:    "a: (( [1.5 < 2, 2 > 1.5, 1.5 >= 1.5, 2.5 <= 1.5, 1.5 == 1, 2 == 2.0] ))",
		want:    "a: [true, true, true, false, false, true]",
		differs: "to it no fraction is greater or less than another number",
	},
	{
		name:    "a backslash at the end of a string",
		text:    `a: (( "x\\" "y" ))`,
		want:    `a: x\y`,
		differs: "it takes the quote behind a backslash for a part of the string",
	},
	{name: "a group that matches nothing", text: `a: (( replace_match("b", "(a)|(b)", |m|->m[2]) ))`, want: "a: b", differs: "it panics"},
	{
		name: "logic",
		text: `a: (( [true -and false, true -or false, 5 -and 6, 5 -or 6, !true, !"", "x" -and [], "" -or 0] ))`,
		want: "a: [false, true, 4, 7, false, true, false, false]",
	},
	{
		name:   "conditions",
		text:   `a: (( imports.enabled ? "yes" :"no" ))` + "\n" + `b: (( imports.count > 5 ? 1 :imports.count > 2 ? 2 :3 ))`,
		want:   "a: 'yes'\nb: 2",
		floats: true,
	},
	{
		name: "alternatives",
		text: `a: (( imports.missing || "x" ))` + "\n" + `b: (( imports.name || "x" ))` + "\n" + `c: (( nowhere.at.all || imports.missing || 5 ))` + "\n" + `d: (( imports.nothing || "x" ))` + "\n" + `e: (( imports.nothing // "x" ))` + "\n" + `f: (( 1 + nowhere || 7 ))`,
		want: "a: x\nb: alice\nc: 5\nd: null\ne: x\nf: 7",
	},
	{
		name: "undefined",
		text: "a: (( ~~ ))\nb: (( a || ~~ ))\nc: (( b || \"default\" ))\nl: [1, (( ~~ )), 2]\nm: {p: (( ~~ )), q: 1}\nd: (( l[1] ))",
		want: "c: default\nl: [1, 2]\nm: {q: 1}\nd: 2",
	},
	{
		name: "IP addresses",
		text: `a: (( "10.1.2.1" + 256 ))` + "\n" + `b: (( "10.1.2.3" - 4 ))` + "\n" + `c: (( "10.1.3.1" - "10.1.2.1" ))` + "\n" + `d: (( "10.1.2.1/24" + 5 ))` + "\n" + `e: (( "10.1.2.0/24" * 3 ))` + "\n" + `f: (( "10.1.2.0/24" / 12 ))` + "\n" + `g: (( 10.0.0.1 + 1 ))`,
		want: "a: 10.1.3.1\nb: 10.1.1.255\nc: 256\nd: 10.1.2.6/24\ne: 10.1.5.0/24\nf: 10.1.2.0/28\ng: 10.0.0.2",
	},
	{
		name: "scopes",
		text: `a: (( ($x = 1, "y" = 2) x + y ))` + "\nb:\n  x: 5\n" + `  c: (( ($x = 1) ($y = x + 1) [x, y, __.x] ))`,
		want: "a: 3\nb: {x: 5, c: [1, 2, 5]}",
	},

	// Lambdas.
	{name: "a lambda", text: "f: (( &temporary(lambda |x,y|->x + y) ))\na: (( .f(1, 2) ))", want: "a: 3"},
	{
		name: "a lambda that sees its caller",
		text: "f: (( &temporary(|x|->x + offset) ))\noffset: 1\nb: {offset: 5, a: (( .f(1) ))}",
		want: "offset: 1\nb: {offset: 5, a: 6}",
	},
	{
		name: "a lambda that sees its definition",
		text: "d:\n  <<: (( &temporary ))\n  f: (( |x|->[scope, _.scope] ))\n  scope: definition\nb: {scope: call, a: (( d.f(1) ))}",
		want: "b: {scope: call, a: [call, definition]}",
	},
	{name: "recursion", text: "f: (( &temporary(|x|-> x <= 1 ? 1 :x * _(x - 1)) ))\na: (( .f(10) ))", want: "a: 3628800"},
	{name: "lambdas of lambdas", text: "mult: (( &temporary(|x|->|y|->x * y) ))\na: (( .mult(2)(3) ))", want: "a: 6"},
	{
		name: "named arguments",
		text: "f: (( &temporary(|a,b,c|->[a, b, c]) ))\na: (( .f(c=1, b=2, a=3) ))\nb: (( .f(c=1, 5, 6) ))\nc: (( .f(3=1, 5, 6) ))",
		want: "a: [3, 2, 1]\nb: [5, 6, 1]\nc: [5, 6, 1]",
	},
	{
		name: "optional arguments",
		text: "f: (( &temporary(|a,b=2,c=3|->[a, b, c]) ))\na: (( .f(1) ))\nb: (( .f(1, 5) ))\nc: (( .f(c=7, 1) ))",
		want: "a: [1, 2, 3]\nb: [1, 5, 3]\nc: [1, 2, 7]",
	},
	{
		name: "any number of arguments",
		text: "f: (( &temporary(|a,b...|->[a] b) ))\na: (( .f(1) ))\nb: (( .f(1, 2, 3) ))\nc: (( .f([1, 2, 3]...) ))",
		want: "a: [1]\nb: [1, 2, 3]\nc: [1, 2, 3]",
	},
	{
		name: "currying",
		text: "f: (( &temporary(|a,b,c|->[a, b, c]) ))\na: (( .f*(1)(2, 3) ))\nb: (( .f(1)(2)(3) ))\nj: (( &temporary(join*(\"-\")) ))\nc: (( .j(\"a\", \"b\") ))",
		want: "a: [1, 2, 3]\nb: [1, 2, 3]\nc: a-b",
	},
	{name: "a lambda from a text", text: "s: \"|x|->x + 1\"\nf: (( &temporary(lambda s) ))\na: (( .f(1) ))", want: "s: \"|x|->x + 1\"\na: 2"},
	{name: "a lambda that stays in the document", text: "f: (( |x|->x ))", want: "f: (( lambda|x|->x ))"},
	{
		name:    "a lambda by its name alone",
		text:    "f: (( &temporary(|x|->x + 1) ))\na: (( f(1) ))",
		want:    "a: 2",
		differs: "it takes the name for the name of a function",
	},
	{
		name: "map",
		text: "a: (( map[imports.numbers|x|->x + 1] ))\nb: (( map[imports.list|i,x|->i x] ))\nc: (( map[imports.map.nested|k,v|->k v] ))\nf: (( &temporary(|x|->x x) ))\nd: (( map[imports.list|f] ))\ne: (( map[imports.list|x|->x == \"b\" ? ~~ :x] ))",
		want: "a: [4, 2, 3]\nb: [0a, 1b, 2c]\nc: [deepvalue]\nd: [aa, bb, cc]\ne: [a, c]",
	},
	{
		name: "map to a map",
		text: "a: (( map{imports.map.nested|v|->v v} ))\nb: (( map{imports.list|x|->x x} ))",
		want: "a: {deep: valuevalue}\nb: {a: aa, b: bb, c: cc}",
	},
	{
		name:   "select",
		text:   "a: (( select[imports.numbers|x|->x > 1] ))\nb: (( select{imports.map|k,v|->k == \"a\"} ))",
		want:   "a: [3, 2]\nb: {a: 1}",
		floats: true,
	},
	{
		name: "sum",
		text: "a: (( sum[imports.numbers|0|s,x|->s + x] ))\nb: (( sum[imports.list|\"\"|s,i,x|->s i x] ))\nc: (( sum[imports.map.nested|[]|s,k,v|->s [{\"key\"=k, \"value\"=v}]] ))",
		want: "a: 6\nb: 0a1b2c\nc: [{key: deep, value: value}]",
	},
	{
		name: "catch",
		text: "a: (( catch[imports.missing|v,e|->e ? \"failed\" :v] ))\nb: (( catch[imports.name|v|->v] ))\nc: (( catch(imports.name) ))\nd: (( catch(1 / 0).valid ))",
		want: "a: failed\nb: alice\nc: {valid: true, error: \"\", value: alice}\nd: false",
	},

	// Markers, insertions and templates.
	{
		name: "temporary values",
		text: "a: (( &temporary(5) ))\nb: (( a + 1 ))\nc: {<<: (( &temporary )), x: 1}\nd: (( c.x ))\nl: [{<<: (( &temporary )), v: 7}, 2]\ne: [{<<: (( &local ))}, 1]\nf: (( e[0] ))",
		want: "b: 6\nd: 1\nl: [2]\nf: 1",
	},
	{
		name: "a dynamic template",
		text: "x: 1\nu: {<<: (( &temporary &dynamic &template )), v: (( x ))}\nb: (( *u ))",
		want: "x: 1\nb: {v: 1}",
	},
	{
		name: "documents of other forms",
		text: "t: '(( &temporary(parse(\"v: (( x + 1 ))\", \"template\")) ))'\nx: 1\na: (( *t ))\nb: '(( parse(\"a: 1\\n---\\nb: 2.0\\n---\\n\", \"multiyaml\") ))'\nc: '(( parse(\"a: 1\\n---\\n- x\\n\", \"importmulti\") ))'",
		want: "x: 1\na: {v: 2}\nb: [{a: 1}, {b: 2}]\nc: [{a: 1}, [x]]",
	},
	{
		name: "insertion into a map",
		text: "a: {<<: (( imports.map )), a: own, c: new}",
		want: "a: {a: own, b: 2, nested: {deep: value}, c: new}",
	},
	{name: "the other key for insertions", text: "a: {<<<: (( imports.map.nested )), c: (( deep ))}", want: "a: {deep: value, c: value}"},
	{
		name: "insertion of nothing",
		text: "a: {<<: (( nil )), b: 1}\nc: {<<: (( imports.missing || nil ))}\nd: {<<: (( merge )), e: 1}",
		want: "a: {b: 1}\nc: {}\nd: {e: 1}",
	},
	{name: "insertion of the undefined", text: "a: {<<: (( ~~ )), b: 1}\nc: 1", want: "c: 1"},
	{
		name: "insertion into a list",
		text: "a: [x, {<<: (( imports.list ))}, y]\nb: [{<<<: (( imports.missing || ~~ ))}, z]",
		want: "a: [x, a, b, c, y]\nb: [z]",
	},
	{
		name: "insertion beside items of the same name",
		text: "a: [{name: two, v: own}, {<<: (( imports.items ))}]",
		want: "a: [{name: two, v: own}, {name: one, v: 1}]",
	},
	{
		name: "a template",
		text: "t: {<<: (( &temporary &template )), a: (( x + 1 )), b: (( a + 1 ))}\nu: {x: 1, v: (( *t ))}",
		want: "u: {x: 1, v: {a: 2, b: 3}}",
	},
	{
		name: "a template of a value",
		text: "t: (( &temporary &template(x + 1) ))\nx: 1\na: (( *t ))\nb: {x: 5, c: (( *t ))}",
		want: "x: 1\na: 2\nb: {x: 5, c: 6}",
	},
	{
		name: "a template of a list",
		text: "t: [{<<: (( &temporary &template ))}, (( x )), (( x x ))]\nx: a\nb: (( *t ))",
		want: "x: a\nb: [a, aa]",
	},
	{
		name: "a template that sees its definition",
		text: "d: {<<: (( &temporary )), t: {<<: (( &template )), v: (( _.scope scope ))}, scope: def}\nscope: use\na: (( *d.t ))",
		want: "scope: use\na: {v: defuse}",
	},
	{
		name: "a template with an insertion",
		text: "b: {<<: (( &temporary )), p: 1, q: 2}\nt: {<<: (( &temporary &template(b) )), q: (( z ))}\nz: 5\na: (( *t ))",
		want: "z: 5\na: {p: 1, q: 5}",
	},
	{
		name: "a template that fails",
		text: "t: {<<: (( &temporary &template )), v: (( nowhere ))}\na: (( *t || \"failed\" ))",
		want: "a: failed",
	},
	{
		name: "a template in a lambda",
		text: "t: {<<: (( &temporary &template )), v: (( x + 1 ))}\na: (( map[imports.numbers|x|->*t] ))",
		want: "a: [{v: 4}, {v: 2}, {v: 3}]",
	},
	{
		name: "a template that stays in the document",
		text: "t: {<<: (( &template )), v: (( x ))}",
		want: "t: {<<: (( &template )), v: (( x ))}",
	},
	{
		name: "a distinguishing field",
		text: "l:\n- key:id: p\n  v: 1\n- {id: q, v: 2}\na: (( l.q.v ))",
		want: "l: [{id: p, v: 1}, {id: q, v: 2}]\na: 2",
	},
	{
		name: "merge of maps",
		text: "a: (( merge({$x=1, $y={$z=2}}, {$x=5, $y={$z=6, $w=7}}) ))\nt: {<<: (( &temporary &template )), v: (( s + 1 )), s: 0}\nb: (( merge(t, {$s=5}) ))",
		want: "a: {x: 5, y: {z: 6}}\nb: {v: 6, s: 5}",
	},

	{
		name: "merge with expressions as texts",
		text: "b: 5\nm: {a: 1, c: 2, d: 3}\nx: (( merge(m, {\"a\" = \"(( b ))\", \"c\" = \"(( a + 1 ))\", \"d\" = b + 2}) ))\nz: (( merge({\"a\" = \"(( imports.count ))\", \"b\" = 2}, {\"b\" = 7}) ))",
		want: "b: 5\nm: {a: 1, c: 2, d: 3}\nx: {a: 5, c: 6, d: 7}\nz: {a: 3, b: 7}",
	},
	{
		name:    "merge of data that looks like an expression",
		text:    "m: {a: 1}\nx: (( merge(m, {\"a\" = imports.code}) ))",
		want:    "m: {a: 1}\nx: {a: (( imports.name ))}",
		differs: "it evaluates strings that look like expressions",
	},

	// Common uses of the language in blueprints and data mappings.
	{
		name: "a deploy item for every target",
		text: "deployItems: (( sum[imports.items|[]|s,idx,item|-> s *item_template] ))\nitem_template:\n  <<: (( &template &temporary ))\n  name: (( \"item-\" idx \"-\" item.name ))\n  target: (( \"targets[\" idx \"]\" ))",
		want: "deployItems: [{name: item-0-one, target: 'targets[0]'}, {name: item-1-two, target: 'targets[1]'}]",
	},
	{
		name: "a map as a list",
		text: "a: (( valid( imports.map ) ? sum[imports.map.nested|[]|s,k,v|-> s [{\"key\" = k, \"value\" = v}]] :~~ ))\nb: (( valid( imports.missing ) ? 1 :~~ ))",
		want: "a: [{key: deep, value: value}]",
	},
	{
		name: "errors of an import execution",
		text: "errors:\n- (( imports.name != \"bob\" ? \"it must be bob\" :~~ ))\n- (( imports.count > 5 ? \"too many\" :~~ ))",
		want: "errors: [it must be bob]",
	},
	{
		name: "a key with a dot",
		text: "exports: {root.z: 1}\na: (( exports[\"root.z\"] ))\nb: (( exports.[\"root.z\"] ))",
		want: "exports: {root.z: 1}\na: 1\nb: 1",
	},
	{
		name: "names with dashes",
		text: "aws-type: {creds: {key-id: x}}\na: (( aws-type.creds.key-id \":\" imports.name ))",
		want: "aws-type: {creds: {key-id: x}}\na: x:alice",
	},
	{
		name: "a nested document as text",
		text: "raw:\n  <<: (( &temporary ))\n  v: (( imports.name ))\na: (( asyaml(raw) ))",
		want: "a: \"v: alice\\n\"",
	},
	{name: "the bindings around the template", text: "a: (( __ctx.OUTER[0].imports.name ))", want: "a: alice"},
	{name: "arithmetic of a shell", text: "a: echo $((COUNTER+1))\nb: (( imports.name ))", want: "a: echo $((COUNTER+1))\nb: alice"},
	{
		name: "a resource in steps",
		text: "temp:\n  <<: (( &temporary ))\n  list: (( split( \":\", \"a:b\" ) ))\na: (( temp.list[0] \"@\" temp.list[1] ))",
		want: "a: a@b",
	},

	// Functions.
	{
		name: "texts",
		text: `a: (( [join("-", imports.list, 1), split(",", "a,b,c", 2), split(2, "abcde"), trim("  x "), trim(["xax"], "x"), upper("a"), lower("A"), substr("abcd", 1, 3), substr("abcd", -2)] ))`,
		want: `a: [a-b-c-1, [a, "b,c"], [ab, cd, e], x, [a], A, a, bc, cd]`,
	},
	{
		name: "replacements",
		text: `a: (( [replace("banana", "a", "o"), replace("banana", "a", "o", 2), replace_match("banana", "a(n)", "${1}x"), replace("aba", "a", |m|->upper(m[0])), replace_match("a1b2", "[0-9]", |m|->"<" m[0] ">")] ))`,
		want: "a: [bonono, bonona, bnxnxa, AbA, a<1>b<2>]",
	},
	{
		name: "patterns",
		text: `a: (( [match("(f.*)(b.*)", "xxxfoobar"), match("x", "y"), match("a.", "abac", 2), match("a.", "abac", true), split_match("-+", "a--b-c")] ))`,
		want: "a: [[foobar, foo, bar], [], [[ab], [ac]], [[ab], [ac]], [a, b, c]]",
	},
	{name: "formats", text: `a: (( [format("%s %d %5.2f|%v", "x", 5, 1.5, true)] ))`, want: `a: ["x 5  1.50|true"]`},
	{
		name: "encodings",
		text: `a: (( [base64("hello"), base64_decode("aGVsbG8="), base64("hello world", 6), md5("a"), hash("a"), hash("a", "sha1")] ))`,
		want: `a: [aGVsbG8=, hello, "aGVsbG\n8gd29y\nbGQ=", 0cc175b9c0f1b6a831c399e269772661, ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb, 86f7e437faa5a7fce15d1ddcb9eaeaea377667b8]`,
	},
	{
		name: "all hashes",
		text: `a: (( map[["md5","sha1","sha224","sha256","sha384","sha512","sha512/224","sha512/256"]|k|->substr(hash("x", k), 0, 4)] ))`,
		want: "a: ['9dd4', '11f6', '54a2', '2d71', 'd752', 'a4ab', 'a0fe', '6a1d']",
	},
	{
		name: "collections",
		text: `a: (( [length("abc"), length(imports.list), length(imports.map), contains(imports.list, "b"), contains(imports.map, "x"), contains("abc", "b"), index(imports.list, "c"), index("abcb", "b"), lastindex("abcb", "b"), lastindex([1, 2, 1], 1)] ))`,
		want: "a: [3, 3, 3, true, false, true, 2, 1, 3, 2]",
	},
	{
		name:   "lists",
		text:   `a: (( [uniq([1, 2, 1]), element(imports.list, 1), element(imports.map, "a"), compact([1, nil, "", [], {}, 0]), sort([3, 1, 2]), sort(["b", "a"]), sort(imports.numbers, |a,b|->a > b), reverse([1, 2, 3]), intersect([1, 2, 3], [2, 3], [3, 2])] ))`,
		want:   "a: [[1, 2], b, 1, [1, 0], [1, 2, 3], [a, b], [3, 2, 1], [3, 2, 1], [2, 3]]",
		floats: true,
	},
	{
		name: "maps",
		text: `a: (( [keys(imports.map), makemap("a", 1, "b", 2), makemap([{"key"="x", "value"=1}]), list_to_map(imports.items), list_to_map([{"id"="x", "v"=1}], "id")] ))`,
		want: "a: [[a, b, nested], {a: 1, b: 2}, {x: 1}, {one: {v: 1}, two: {v: 2}}, {x: {v: 1}}]",
	},
	{
		name: "types",
		text: `a: (( map[["x", 1, 1.5, true, [], {}, |x|->x]|v|->type(v)] ))` + "\n" + `b: (( type(nil) ))` + "\n" + `c: (( type(~~) ))`,
		want: "a: [string, int, float, bool, list, map, lambda]\nb: nil\nc: undef",
	},
	{
		name: "conversions",
		text: `a: (( [string(5), string(255, 16), string(true), string(1.5), integer("5"), integer(1.9), integer("-7"), float(1) + 0.5, float("1.5"), bool("true"), bool(0), bool("")] ))`,
		want: `a: ["5", ff, "true", "1.5", 5, 1, -7, 1.5, 1.5, true, false, false]`,
	},
	{
		name: "mathematics",
		text: `a: (( [floor(1.7), ceil(1.2), round(1.5), roundtoeven(2.5), abs(-5), abs(-1.5), sqrt(25), floor(5)] ))`,
		want: "a: [1, 2, 2, 2, 5, 1.5, 5, 5]",
	},
	{
		name: "more mathematics",
		text: `a: (( map[[sin(0), cos(0), sinh(0), cosh(0), asin(0), acos(1), asinh(0), acosh(1), exp(0), log(1), log10(100)]|x|->x] ))`,
		want: "a: [0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 2]",
	},
	{
		name: "documents",
		text: `a: '(( [asjson({$x=[1, "y"]}), parse("a: [1, yes]\nb: x"), parse("{\"a\": 5}")] ))'`,
		want: `a: ["{\"x\":[1,\"y\"]}", {a: [1, true], b: x}, {a: 5}]`,
	},
	{name: "a document as YAML", text: `a: (( asyaml({$x=[1, "y"]}) ))`, want: `a: "x:\n- 1\n- \"y\"\n"`},
	{
		name: "paths and URLs",
		text: `a: (( [basename("a/b.c"), dirname("a/b.c"), basename("http://h/p/q"), dirname("http://h/p/q"), basename("http://h")] ))` + "\n" + `b: (( parseurl("https://u:p@h:80/x?q=1#f") ))`,
		want: "a: [b.c, a, q, /p, /]\nb: {scheme: https, host: h, port: 80, path: /x, fragment: f, query: q=1, values: {q: ['1']}, userinfo: {username: u, password: p}}",
	},
	{
		name: "networks",
		text: `a: (( [min_ip("10.1.2.3/24"), max_ip("10.1.2.3/24"), num_ip("10.1.2.0/24"), contains_ip("10.1.0.0/16", "10.1.2.3"), contains_ip("10.1.0.0/16", "10.2.2.3")] ))`,
		want: "a: [10.1.2.0, 10.1.2.255, 256, true, false]",
	},
	{
		name: "versions",
		text: `a: (( [semver("v1.2"), semverrelease("1.2.3-rc.1"), semverrelease("v1.2.3-rc.1+b"), semverrelease("1.2.3-rc.1", "v2.0"), semvermajor("1.2.3"), semverminor("1.2.3"), semverpatch("1.2.3"), semverprerelease("1.2.3-rc.1"), semvermetadata("1.2.3+b"), semvercmp("1.2.3", "1.3.0"), semvermatch("1.2.3", "~1.2"), semversort("1.3.0", "1.2.0"), semversort(["1.3.0", "1.2.0"]), semverincmajor("1.2.3"), semverincminor("v1.2.3"), semverincpatch("1.2.3"), semverprerelease("1.2.3", "rc.2"), semverrelease("v1.2.3-demo", "1.2.1+test"), semvervalidate("1.2.3", "~1.2")] ))`,
		want: "a: [1.2.0, 1.2.3, v1.2.3, v2.0.0-rc.1, 1, 2, 3, rc.1, b, -1, true, [1.2.0, 1.3.0], [1.2.0, 1.3.0], 2.0.0, v1.3.0, 1.2.4, 1.2.3-rc.2, 1.2.1-demo, 1.2.3]",
	},
	{
		name: "what is there",
		text: `a: (( [defined(imports.name), defined(imports.missing), defined(imports.nothing), valid(imports.nothing), valid(imports.name, imports.count), require(imports.name)] ))`,
		want: "a: [true, false, true, false, true, alice]",
	},
	{
		name: "conditions on simple values",
		text: `a: (( [check("a.b", "dnsdomain"), check("A", "dnsdomain"), check("*.a.b", "dnsname"), check("a.b", "dnsname"), check("*.a", "wildcarddnsdomain"), check("*a", "wildcarddnsdomain"), check("a", "dnslabel"), check("a.b", "dnslabel"), check("10.0.0.1", "ip"), check("::1", "ip"), check("10.0.0", "ip"), check("fe80::1%eth0", "ip"), check("10.0.0.0/8", "cidr"), check("10.0.0.0/33", "cidr"), check("v1.2.3", "semver"), check("one", "semver"), check("1.2.3", ["semver", "~1.2", ">1.2.2"]), check("1.2.3", ["semver", ">2"])] ))`,
		want: "a: [true, false, true, true, true, false, true, false, true, true, false, false, true, false, true, false, true, false]",
	},
	{
		name: "conditions on any value",
		text: `a: (( [check("", "empty"), check([1], "empty"), check({}, "empty"), check(1, ["type", "int"]), check("1", ["type", "int", "bool"]), check(1.5, ["type", "float"]), check("a", ["valueset", ["a", 1]]), check(1, ["valueset", ["a", 1]]), check(2, ["valueset", ["a", 1]]), check([], ["valueset", ["a", []]]), check("a", ["value", "a"]), check(1, ["=", 2]), check("ab", ["match", "^a"]), check("ab", ["~=", "^b"])] ))`,
		want: "a: [true, false, true, true, false, true, true, true, false, true, true, false, true, false]",
	},
	{
		name: "conditions that compare",
		text: `a: (( [check(2, ["gt", 1]), check(1, [">", 1]), check(1, ["ge", 1]), check(1, [">=", 2]), check("a", ["lt", "b"]), check(1.5, ["<", 1]), check(1, ["le", 1.5]), check(2, ["<=", 1])] ))`,
		want: "a: [true, false, true, false, true, false, true, false]",
	},
	{
		name: "conditions on conditions",
		text: `a: (( [check("a", ["and", "dnslabel", ["=", "a"]]), check("a", ["or", "ip", "dnslabel"]), check("A", ["or", "ip", "dnslabel"]), check("a", ["not", "ip"]), check("a", "!ip"), check("a", ["!not", "ip"]), check("a", ["!", "ip"]), check("a", ["!and", "dnslabel", "ip"]), check("a", nil), check("a", "dnslabel", "ip")] ))`,
		want: "a: [true, true, false, true, true, false, true, true, true, false]",
	},
	{
		name:    "a choice of a single condition",
		text:    `a: (( check("a", ["or", "ip"]) ))`,
		want:    "a: false",
		differs: "to it a choice among one condition is always met",
	},
	{
		name: "conditions on lists and maps",
		text: `a: (( [check([], "list"), check(1, "list"), check(["a", "b"], ["list", "dnslabel"]), check(["a", "B"], ["list", "dnslabel"]), check({}, "map"), check([], "map"), check({$a=1}, ["map", ["type", "int"]]), check({$a=1}, ["map", ["=", "b"], ["type", "int"]]), check({$a=1}, ["mapfield", "a"]), check({$a=1}, ["mapfield", "b"]), check({$a=1}, ["mapfield", "a", ["type", "string"]]), check({$a=1}, ["optionalfield", "b", "ip"]), check({$a=1}, ["optionalfield", "a", ["type", "string"]]), check(1, ["mapfield", "a"])] ))`,
		want: "a: [true, false, true, false, true, false, true, false, true, false, false, true, false, false]",
	},
	{
		name: "conditions that are lambdas",
		text: `a: (( [check(2, |x|->x > 1), check(0, |x|->x > 1), check(6, [|x,m|->x > m, 5]), check(6, [|x,m|->[x > m, "more", "not more than " m], 7]), check(6, |x|->[true])] ))`,
		want: "a: [true, false, true, false, true]",
	},
	{
		name: "a value that is validated",
		text: `a: (( validate("a.b", "dnsdomain", ["!", "ip"]) ))` + "\n" + `b: (( validate("A", "dnsdomain") || "invalid" ))`,
		want: "a: a.b\nb: invalid",
	},
	{name: "eval", text: "k: name\na: (( eval(\"imports.\" k) ))\nb: (( eval(\"1 + 2\") ))", want: "k: name\na: alice\nb: 3"},
}

func TestLanguage(t *testing.T) {
	for _, c := range languageExamples {
		if got, want := evaluate(t, c.text), asJSON(t, c.want); got != want {
			t.Errorf("%s:\n%s\n got %s\nwant %s", c.name, c.text, got, want)
		}
	}
}

// The original engine must agree with every example, and disagree where an example says so.
func TestTheOriginalAgrees(t *testing.T) {
	for _, c := range languageExamples {
		got, err := original(c.text, nil)
		if err != nil {
			got = "! " + err.Error()
		}
		same := got == asJSON(t, c.want)
		switch {
		case !same && c.differs == "":
			t.Errorf("%s:\n%s\nthe original yields %s\n              want %s", c.name, c.text, got, asJSON(t, c.want))
		case same && c.differs != "":
			t.Errorf("%s: the original yields the same, although the example says: %s", c.name, c.differs)
		}
		got, err = landscaper(c.text, nil)
		if same := err == nil && got == asJSON(t, c.want); c.differs == "" && same == c.floats {
			t.Errorf("%s:\n%s\nLandscaper yields %s %v\n            want %s", c.name, c.text, got, err, asJSON(t, c.want))
		}
	}
}

// original evaluates a template with the engine that this package replaces, with numbers as written.
func original(text string, state any) (string, error) {
	return cascade(spiffing.Plain().WithMode(spiffing.MODE_PRIVATE), bindings(), text, state)
}

// landscaper evaluates a template like Landscaper: all numbers of the bindings are floats, because they come from JSON, and
// nothing is restricted.
func landscaper(text string, state any) (string, error) {
	var floats map[string]any
	if err := json.Unmarshal([]byte(jsonText(bindings())), &floats); err != nil {
		return "", err
	}
	return cascade(spiffing.New(), floats, text, state)
}

func cascade(engine spiffing.Spiff, values map[string]any, text string, state any) (result string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	if engine, err = engine.WithValues(values); err != nil {
		return "", err
	}
	node, err := engine.Unmarshal("template", []byte(text))
	if err != nil {
		return "", err
	}
	var states []spiffing.Node
	if state != nil {
		stub, err := engine.Unmarshal("state", []byte(jsonText(state)))
		if err != nil {
			return "", err
		}
		states = append(states, stub)
	}
	evaluated, err := engine.Cascade(node, nil, states...)
	if err != nil {
		return "", err
	}
	value, err := engine.Normalize(evaluated)
	if err != nil {
		return "", err
	}
	plain, err := template.Plain(value, template.Limits{})
	if err != nil {
		return "", err
	}
	return jsonText(plain), nil
}

// Documents are written as YAML byte for byte like the original, so that a takeover does not redeploy anything.
func TestYAMLIsWrittenAsTheOriginalDoes(t *testing.T) {
	for _, value := range []string{
		`{$a="multi\nline\n", $b="multi\nline", $c="  lead\nx", $d="trail \nx"}`,
		`"multi\nline\n"`,
		`[1,[2,[3]],{$a=[{}]},[{$b=1,$c=[]}]]`,
		`{}`,
		`[]`,
		`""`,
		`{$a=nil,$b=""}`,
		`{$a=true,$b="true",$c="yes",$d="no",$e="on",$f="1",$g="1.5",$h="~",$i="null",$j="2020-01-01",$k="0x10",$l="1e3",$m="y",$n="n",$o="=",$p="<<",$q="012",$r="1_000",$s="12:30:45"}`,
		`{$a=1.5,$b=1e30,$c=100000000000000000,$d=2.0,$e=0.1,$f=1e-7}`,
		`{"a b"=1,"1"=2,"true"=3,"a:b"=4,"x.y/z"=5}`,
		`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccccccccccccc ddddddddddddddddddddddddddddd"`,
		`{$a="\n", $b="\n\nx", $c="x\n\n", $d="x\n\ny\n"}`,
		`"-----BEGIN\nabc\n-----END\n"`,
		`{$a={$b="x\ny\n",$c={$d=[{$e="p\nq\n"},"r\ns\n",["t\nu"]]}}}`,
		`[{$a="x\ny\n"}]`,
		`{$a="\u00fc", $b="x \u00e4\ny \"q\"\n", $c="\u20ac 5\t\\x", "\u00fc"=1}`,
		`{$z=1,$a=2,$B=3,$a10=4,$a9=5}`,
		`{$a="a: b",$b="- x",$c="x #y",$e="q!",$f="\"q\"",$g="a\tb",$h=" lead",$i="trail ",$j="\u00fc",$m="back\\slash",$n="{x}",$o="[x]",$p="*x",$q="&x",$r="!x",$s="%x",$t="@x",$u="|x",$v=">x",$w="?",$x="-",$y="- ",$z=":"}`,
		`{$a=imports.items,$b=imports.map,$c=imports.million,$d=imports.ratio}`,
	} {
		text := jsonText(map[string]any{"a": "(( asyaml(" + value + ") ))"})
		want, err := original(text, nil)
		got := evaluate(t, text)
		if err != nil || got != want {
			t.Errorf("%s:\n got %s\nwant %s %v", value, got, want, err)
		}
		theirs, err := landscaper(text, nil)
		if same := err == nil && got == theirs; same == strings.Contains(value, "imports.million") {
			t.Errorf("%s:\n       got %s\nLandscaper %s %v", value, got, theirs, err)
		}
	}
}

// Landscaper writes imported integers from a million on as floats. A consumer that wants an integer rejects them, so they are
// written in full here.
func TestLargeIntegersAreWrittenInFull(t *testing.T) {
	for expression, want := range map[string]struct{ ours, theirs string }{
		"asyaml(imports.million - 1)":       {"999999\n", "999999\n"},
		"asyaml(imports.million)":           {"1000000\n", "1e+06\n"},
		"asyaml(0 - imports.million)":       {"-1000000\n", "-1e+06\n"},
		"asyaml(imports.million + 234567)":  {"1234567\n", "1.234567e+06\n"},
		"asyaml(imports.million + 0.5)":     {"1.0000005e+06\n", "1.0000005e+06\n"},
		"asyaml([{$a=imports.million}])":    {"- a: 1000000\n", "- a: 1e+06\n"},
		"asyaml(integer(imports.million))":  {"1000000\n", "1000000\n"},
		"string(imports.million - 1)":       {"999999", "999999"},
		"string(imports.million)":           {"1000000", "1e+06"},
		"string(integer(imports.million))":  {"1000000", "1000000"},
		"asjson(imports.million)":           {"1000000", "1000000"},
		"asjson(imports.million * 1000000)": {"1000000000000", "1000000000000"},
	} {
		text := jsonText(map[string]any{"a": "(( " + expression + " ))"})
		if got := evaluate(t, text); got != jsonText(map[string]any{"a": want.ours}) {
			t.Errorf("%s: got %s, want %q", expression, got, want.ours)
		}
		if got, err := landscaper(text, nil); err != nil || got != jsonText(map[string]any{"a": want.theirs}) {
			t.Errorf("%s: Landscaper yields %s, %v, want %q", expression, got, err, want.theirs)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		// References.
		"a: (( imports.missing ))":           "imports.missing is not defined",
		"a: (( imports.name.x.y ))":          "imports.name.x is not defined",
		"a: (( (imports).x ))":               "there is no x in the value",
		"a: (( nowhere.x ))":                 "nowhere.x is not defined",
		"a: (( .nowhere ))":                  ".nowhere is not defined",
		"a: (( imports.list[5] ))":           "imports.list.[5] is not defined",
		"a: (( imports.[\"x\"] ))":           "there is nothing at this index",
		"a: (( imports.[imports] ))":         "an index must be an integer or the name of a field, not of type map",
		"a: (( a ))":                         "the value refers to itself",
		"a: (( b ))\nb: (( c ))\nc: (( a ))": "the value refers to itself",
		"a: {b: (( .a ))}":                   "the value refers to itself",
		"a: (( a || 1 ))":                    "the value refers to itself",
		"a: (( b || 1 ))\nb: (( nowhere ))":  "nowhere is not defined",
		"a: (( _.x ))":                       "_.x is not defined",
		"a: (( [1..] ))":                     "a range needs both bounds",
		"a: (( imports.list.[5..6] ))":       "the part is out of the range of the list",
		"a: (( imports.name.[0..1] ))":       "only a list has parts, not a value of type string",
		"a: (( imports.list.[-1..1] ))":      "the bounds of a part must be both negative or both not",
		"a: (( imports.name.[*].x ))":        "only a list or a map can be projected, not a value of type string",
		// Operators.
		"a: (( 1 / 0 ))":                  "division by zero",
		"a: (( 1.5 / 0 ))":                "division by zero",
		"a: (( 1 % 0 ))":                  "division by zero",
		"a: (( 1 + true ))":               "the operator + does not apply to values of type int and bool",
		"a: (( \"x\" + 1 ))":              "the operator + applies to numbers and IP addresses only",
		"a: (( \"10.0.0.0/24\" / 1000 ))": "the network is too small to be divided by this number",
		"a: (( \"10.0.0.0/24\" / 0 ))":    "a network can only be divided by a positive integer",
		"a: (( \"10.0.0.1/24\" + 1000 ))": "the resulting IP address is not in its network",
		"a: (( nil \"x\" ))":              "nothing can be appended to a value of type nil",
		"a: (( \"x\" [] ))":               "a value of type list cannot be appended to one of type string",
		"a: (( {} 5 ))":                   "a value of type int cannot be appended to a map",
		"a: (( 1 < \"x\" ))":              "a number can only be compared with a number, not with a value of type string",
		"a: (( \"x\" == [] ))":            "a string cannot be compared with a value of type list",
		"a: (( {1 = 2} ))":                "the key of a map must be a string, not of type int",
		// Lambdas.
		"a: (( (|x|->x)(1, 2) ))":              "the lambda takes 1 arguments, not 2",
		"a: (( (|x,y=1|->x)(z=2) ))":           "the lambda has no parameter z",
		"a: (( (|x,y|->x)(x=2) ))":             "there is no argument for the parameter y",
		"a: (( (|x|->x)(x=1, 2) ))":            "there are two arguments for the parameter x",
		"a: (( imports.name(1) ))":             "only functions and lambdas can be called, not a value of type string",
		"a: (( nosuch(1) ))":                   "there is no function nosuch",
		"a: (( map[5|x|->x] ))":                "this iteration does not apply to a value of type int",
		"a: (( map[imports.list|5] ))":         "a lambda is required here, not a value of type int",
		"a: (( map[imports.list|a,b,c|->a] ))": "the lambda must take one or two arguments, not 3",
		"a: (( sum[5|0|s,x|->s] ))":            "only a list or a map can be summed up, not a value of type int",
		"a: (( sum[imports.list|0|s|->s] ))":   "the lambda must take two or three arguments, not 1",
		"a: (( select{imports.list|x|->x} ))":  "this iteration does not apply to a value of type list",
		"a: (( lambda 5 ))":                    "a lambda or the text of one is required here, not a value of type int",
		"a: (( lambda \"x\" ))":                "a lambda or the text of one is required here, not a value of type string",
		"a: (( f([1]...) ))\nf: (( |x|->x ))":  "",
		"a: (( [5...] ))":                      "only a list can be expanded to several arguments, not a value of type int",
		// Documents.
		"a: {<<: (( 5 ))}":                   "only a map can be inserted into a map, not a value of type int",
		"a: {<<: (( nil )), <<<: (( nil ))}": "a map can have only one of the keys << and <<<",
		"a: (( *imports.name ))":             "only a template can be instantiated, not a value of type string",
		"a: (( &template ))":                 "there is nothing behind the marker &template",
		"a: (( 1 (&template) ))":             `the expression has a syntax error: the expression cannot be read from here on: at "(&template)"`,
		"a: (( merge ))":                     "there is nothing to merge with: the state has no value here",
		"a: (( stub(x) ))":                   "the state has no such value",
		// Functions.
		"a: (( error(\"the size is wrong\") ))":    "the size is wrong",
		"a: '(( error(\"bad: \" imports.name) ))'": "the template rejects its input; the message may contain values and is withheld, see the expression",
		"a: (( require(imports.nothing) ))":        "a required value is missing",
		"a: (( join([]) ))":                        "function join: argument 1 must be a string, not a value of type list",
		"a: (( join(\"-\", [[]]) ))":               "function join: argument 2 must be a simple value or a list of such values, not a value of type list",
		"a: (( split(\"-\") ))":                    "function split does not take 1 arguments",
		"a: (( split(0, \"a\") ))":                 "function split: the length of the pieces must be positive",
		"a: (( substr(\"abc\", 5) ))":              "function substr: the part is out of the range of the string",
		"a: (( match(\"(\", \"a\") ))":             "function match: the regular expression is not valid",
		"a: (( match(\"a\", \"a\", 0) ))":          "function match: argument 3 must be a boolean or an integer other than zero",
		"a: (( replace(\"a\", \"a\", 5) ))":        "function replace: argument 3 must be a string or a lambda, not a value of type int",
		"a: (( replace(\"a\", \"a\", |x|->5) ))":   "function replace: the lambda must yield a string",
		"a: (( format(\"%*d\", 1, 2) ))":           "function format: a format cannot take its width from an argument",
		"a: (( base64_decode(\"*\") ))":            "function base64_decode: the string is not in the base64 encoding",
		"a: (( hash(\"a\", \"x\") ))":              "function hash: there is no such hash function",
		"a: (( bcrypt_check(\"a\", \"$2a$31$KC23Kjz3wb2LPzlF.4t7RebxvkfLdrSAudGo3ScuVVg5r9iRIHyWK\") ))": "function bcrypt_check: the cost of bcrypt must be at most 14, because each increment doubles the work",
		"a: (( md5crypt_check(\"a\", \"b\") ))":                                                          "function md5crypt_check: the text is not a hash of md5crypt: it has three dollar signs",
		"a: (( decrypt(imports.name, imports.name) ))":                                                   "function decrypt: the text cannot be decrypted with this key",
		"a: (( decrypt(\"x\") ))":                                                                        "function decrypt: the key must be argument 2, because a blueprint must not depend on the environment",
		"a: (( decrypt(\"x\", \"3DES\") ))":                                                              "function decrypt: the key must be argument 2, because a blueprint must not depend on the environment",
		"a: (( decrypt(\"x\", \"\") ))":                                                                  "function decrypt: the key must not be empty",
		"a: (( decrypt(\"x\", \"y\", \"AES\") ))":                                                        "function decrypt: the method must be 3DES",
		"a: (( decrypt(1, \"y\") ))":                                                                     "function decrypt: argument 1 must be a string, not a value of type int",
		"a: (( ipset(\"10.0.0.0/24\", -1) ))":                                                            "function ipset: the set does not have so many addresses",
		"a: (( ipset(\"10.0.0.0/24\", \"x\") ))":                                                         "function ipset: argument 2 must be an integer, not a value of type string",
		"a: (( ipset([5], 1) ))":                                                                         "function ipset: a range of addresses must be a string, not a value of type int",
		"a: (( ipset(imports.name, 1) ))":                                                                "function ipset: a range is an address, a network, or two addresses with a dash between them, the lesser one first",
		"a: (( ipset(\"10.0.0.1-fe80::1\", 1) ))":                                                        "function ipset: a range is an address, a network, or two addresses with a dash between them, the lesser one first",
		"a: (( ipset(\"10.0.0.1\", 1, \"x\") ))":                                                         "function ipset: the indexes must be integers or lists of them, not a value of type string",
		"a: (( static_ips() ))":                                                                          "function static_ips needs an index",
		"a: (( static_ips(1) ))":                                                                         "name is not defined",
		"name: 5\na: (( static_ips(1) ))":                                                                "function static_ips: name must be that of a network, not a value of type int",
		"name: x\na: (( static_ips(1) ))":                                                                "function static_ips: the document has no list of subnets for the network of this name",
		"name: x\nnetworks: [{name: x, subnets: [{}]}]\na: (( static_ips(1) ))":                          "function static_ips: a subnet of the network has no static addresses",
		"name: x\nnetworks: [{name: x, subnets: [{static: z}]}]\na: (( static_ips(1) ))":                 "function static_ips: the static addresses of a subnet must be a list, not a value of type string",
		"name: x\nnetworks: [{name: x, subnets: [{static: [10.0.0.1]}]}]\na: (( static_ips(0) ))":        "instances is not defined",
		"a: (( auto ))": "auto is only for the field size of an entry of resource_pools at the root of the document",
		"resource_pools: {a: {size: (( auto ))}}":                                           "auto counts the instances of jobs, but the document has no list of jobs",
		"resource_pools: {a: {size: (( auto ))}}\njobs: [{resource_pool: a}]":               "auto counts the instances of jobs, but a job of this pool does not have any",
		"resource_pools: {a: {size: (( auto ))}}\njobs: [{resource_pool: a, instances: x}]": "the instances of a job must be an integer, not a value of type string",
		// Tags.
		"a: (( tag::x ))":                                                             "there is no tag tag",
		"x: (( &tag:t(1) ))\na: (( t::y ))":                                           "there is no y at the tag t",
		"x: (( &tag:t.a(1) ))\ny: (( &tag:t.b(1) ))\na: (( t::. ))":                   "several tags begin with t",
		"x: {<<: (( &tag:t.a )), v: 1}\ny: {<<: (( &tag:t.b )), v: 1}\na: (( t::v ))": "v is at several tags that begin with t",
		"x: (( &tag:t(t::. + 1) ))":                                                   "the value refers to itself",
		"x: {y: (( &tag:t ))}\nz: (( &tag:t ))":                                       "the tag t is at two nodes, the other one is x.y",
		"t: {<<: (( &template )), v: (( &tag:x(1) ))}":                                "the tag x is inside of a template, of which there can be several instances; mark the template itself or a value outside",
		"t: [{<<: (( &template ))}, (( &tag:x(1) ))]":                                 "the tag x is inside of a template, of which there can be several instances; mark the template itself or a value outside",
		"a: (( eval(\"&tag:x(1)\") ))":                                                "the marker &tag is not available here because only nodes of the template itself can have tags",
		"x: (( &tag(1) ))":                                                            `the expression has a syntax error: there is no marker &tag: at "&tag(1)"`,
		"x: (( &tag:5(1) ))":                                                          `the expression has a syntax error: there is no marker &tag: at "&tag:5(1)"`,
		"a: (( element(imports.list, 5) ))":                                           "function element: the index is out of the range of the list",
		"a: (( element(imports.map, \"x\") ))":                                        "function element: the map has no such key",
		"a: (( sort([1, \"a\"]) ))":                                                   "function sort: the items must be all strings or all numbers",
		"a: (( sort([1, 2], |a,b|->\"x\") ))":                                         "function sort: the lambda must yield a boolean or an integer",
		"a: (( makemap(1, 2, 3) ))":                                                   "function makemap takes a list, or keys and values in turn",
		"a: (( makemap([1]) ))":                                                       "function makemap: every item needs the fields key and value",
		"a: (( list_to_map([1]) ))":                                                   "function list_to_map: the items of the list must be maps",
		"a: (( list_to_map([{}]) ))":                                                  "function list_to_map: every item needs the key field, and a string in it",
		"a: (( merge(5) ))":                                                           "function merge: only maps and templates can be merged, not a value of type int",
		"a: (( integer(\"x\") ))":                                                     "function integer: the string is not an integer",
		"a: (( float(\"nan\") ))":                                                     "function float: the string is not a number",
		"a: (( bool(\"x\") ))":                                                        "function bool: the string is not a boolean",
		"a: (( string(1, 99) ))":                                                      "function string: only an integer can be written in a base, which is from 2 to 36",
		"a: (( sqrt(-1) ))":                                                           "function sqrt has no result for this number",
		"a: '(( parse(\"a: b: c\") ))'":                                               "function parse: the text is not valid YAML: mapping values are not allowed in this context",
		"a: (( parse(\"a\", \"exec\") ))":                                             "function parse: the mode must be import, yaml, multiyaml, importmulti, template or text",
		"a: (( min_ip(\"x\") ))":                                                      "function min_ip: argument 1 must be a network in CIDR notation",
		"a: (( semver(\"x\") ))":                                                      "function semver: the string is not a semantic version",
		"a: (( semvermatch(\"1.2.3\", \"?\") ))":                                      "function semvermatch: argument 2 is not a condition on a version",
		"a: (( semvervalidate(\"1.2.3\", \">2\") ))":                                  "function semvervalidate: the version does not meet the conditions",
		"a: (( validate(imports.name, [\"or\", \"ip\"]) ))":                           "function validate: the value does not meet condition 1 (or)",
		"a: (( validate(\"x\", \"dnslabel\", \"!dnsname\") ))":                        "function validate: the value does not meet condition 2 (!dnsname)",
		"a: (( validate(\"x\", [|x|->[false, \"\", imports.name]]) ))":                "function validate: the value does not meet condition 1",
		"a: (( validate(\"x\") ))":                                                    "function validate does not take 1 arguments",
		"a: (( check(\"x\", imports.name) ))":                                         "function check: there is no condition of this name",
		"a: (( check(\"x\", 5) ))":                                                    "function check: a condition must be a name, a lambda or a list that begins with one, not a value of type int",
		"a: (( check(5, \"ip\") ))":                                                   "function check: the condition applies to strings only, not to a value of type int",
		"a: (( check(5, \"empty\") ))":                                                "function check: a value of type int is neither a string, a list nor a map",
		"a: (( check(5, [\"gt\", \"x\"]) ))":                                          "function check: a value of type int cannot be compared with one of type string",
		"a: (( check(\"x\", \"match\") ))":                                            "function check: a condition does not take 0 arguments",
		"a: (( check(\"x\", [\"match\", \"(\"]) ))":                                   "function check: the regular expression is not valid",
		"a: (( check(\"x\", \"and\") ))":                                              "function check: a condition needs an argument",
		"a: (( check(\"x\", |x,y|->true) ))":                                          "function check: the lambda of a condition takes 2 arguments, not 1",
		"a: (( check(\"x\", |x|->[]) ))":                                              "function check: a list that the lambda of a condition yields must have one to three items",
		"a: (( eval(5) ))":                                                            "function eval takes a string, not a value of type int",
		"a: (( eval(\"1 +\") ))":                                                      "the text is not an expression",
		"a: (( eval(\"nowhere\") ))":                                                  "the expression was put together from values and cannot be evaluated",
		"a: (( length(x=1) ))":                                                        "function length takes no named arguments",
		"a: (( defined*(1) ))":                                                        "function defined takes neither named nor too few arguments",
		// Syntax.
		"a: (( [1, ))":                  `the expression has a syntax error: the expression cannot be read from here on: at ","`,
		"a: (( a b( ))":                 `the expression has a syntax error: the expression cannot be read from here on: at "("`,
		"a: (( ))":                      `the expression has a syntax error: the expression cannot be read from here on: at its end`,
		"a: (( \"x ))":                  `the expression has a syntax error: the expression cannot be read from here on: at ""x"`,
		`a: (( "\q" ))`:                 `the expression has a syntax error: the string is not written as in JSON: at ""\q""`,
		"a: (( 99999999999999999999 ))": `the expression has a syntax error: the number is out of range: at "99999999999999999999"`,
		"a: (( sync[a|x|->x|1] ))":      `the expression has a syntax error: sync is not available in blueprints because ` + becauseWaiting + `: at "sync[a|x|->x|1]"`,
		"a: (( &secret(1) ))":           `the expression has a syntax error: there is no marker &secret: at "&secret(1)"`,
		"a: b: c":                       "the text is not valid YAML: mapping values are not allowed in this context",
	} {
		got := evaluate(t, text)
		if want == "" {
			if strings.HasPrefix(got, "! ") {
				t.Errorf("%s: got %q", text, got)
			}
			continue
		}
		if got != "! "+want {
			t.Errorf("%s\n got %q\nwant %q", text, got, "! "+want)
		}
	}
}

// The functions that users of other systems call first.
func TestRefusalsSayWhatToDoInstead(t *testing.T) {
	const cluster = " is not available in blueprints because only templates of executions reach the clusters of Targets; " +
		"call it in one, or import the kubeconfig instead"
	for call, want := range map[string]string{
		`base64(getShootAdminKubeconfig("shoot", "garden", 3600, imports.target))`:                 "function getShootAdminKubeconfig" + cluster,
		`getShootAdminKubeconfigWithExpirationTimestamp("shoot", "garden", 3600, imports.target)`:  "function getShootAdminKubeconfigWithExpirationTimestamp" + cluster,
		`getServiceAccountKubeconfig("name", "namespace", 3600, imports.target)`:                   "function getServiceAccountKubeconfig" + cluster,
		`getServiceAccountKubeconfigWithExpirationTimestamp("name", "namespace", 3600, imports.x)`: "function getServiceAccountKubeconfigWithExpirationTimestamp" + cluster,
		`getOidcKubeconfig("issuer", "client", imports.target)`:                                    "function getOidcKubeconfig" + cluster,
		`env("HOME")`:    "function env is not available in blueprints because a blueprint must not depend on the environment of the process that evaluates it; import the value instead",
		`exec("ls")`:     "function exec is not available in blueprints because a template must not start programs or write files; import the result instead",
		`archive([])`:    "function archive is not available in blueprints because its result contains the time, and evaluation must be deterministic; use a file of the blueprint or a resource of the component instead",
		`tagdef("x", 1)`: "function tagdef is not available in blueprints because the tags are known only after everything is evaluated; mark the value instead, as in (( &tag:name(value) ))",
	} {
		if got := evaluate(t, jsonText(map[string]any{"a": "(( " + call + " ))"})); got != "! "+want {
			t.Errorf("%s\n got %q\nwant %q", call, got, "! "+want)
		}
	}
	if got := evaluate(t, "v: (( &tag:name(5) ))\na: (( name::. ))"); got != `{"a":5,"v":5}` {
		t.Errorf("what to use instead of tagdef yields %s", got)
	}
}

func TestRefusedFunctions(t *testing.T) {
	for name, reason := range refused {
		want := "! function " + name + " is not available in blueprints because " + reason
		for _, call := range []string{name + "()", name + `("a")`, name + `("a", 1, [])`} {
			if got := evaluate(t, "a: (( "+call+" ))"); got != want {
				t.Errorf("%s: got %q, want %q", call, got, want)
			}
		}
		if got := evaluate(t, "a: (( false ? "+name+"() :\"fine\" ))"); got != `{"a":"fine"}` {
			t.Errorf("%s fails although it is not called: %q", name, got)
		}
		if got := evaluate(t, "a: (( "+name+"() || \"caught\" ))"); got != want {
			t.Errorf("the refusal of %s can be caught: %q", name, got)
		}
	}
}

// Control structures are an option of the original. Without it, they are data there, and an error here.
func TestControlStructuresAreRefused(t *testing.T) {
	for name, instead := range refusedControls {
		want := "! the control structure " + name + " is not available in blueprints because it is an option of spiff that is off; use " + instead + " instead, or write <<!" + name[2:] + " for a key of this name"
		text := "a: {" + name + ": (( imports.enabled )), b: 1}"
		if got := evaluate(t, text); got != want {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
		data := asJSON(t, "a: {"+name+": true, b: 1}")
		if got, err := original(text, nil); err != nil || got != data {
			t.Errorf("%s: the original yields %s and %v", text, got, err)
		}
		if got := evaluate(t, "a: {<<!"+name[2:]+": (( imports.enabled )), b: 1}"); got != data {
			t.Errorf("%s cannot be escaped: %s", name, got)
		}
		names := "condition: true\nvalue: {}\nother: 1\nx: a\nlist: [1]\nmap: {}\na: "
		if got := evaluate(t, names+instead); strings.HasPrefix(got, "! ") {
			t.Errorf("what to use instead of %s fails: %s", name, got)
		}
	}
}

func TestEveryFunctionHasAnExample(t *testing.T) {
	var all strings.Builder
	for _, c := range languageExamples {
		all.WriteString(c.text)
	}
	all.WriteString(authority)
	for name := range builtins {
		if !strings.Contains(all.String(), name+"(") && !strings.HasPrefix(name, "read") && !strings.HasPrefix(name, "list_") &&
			!strings.HasPrefix(name, "lookup_") &&
			generators[name] == nil &&
			name != "wgpublickey" {
			t.Errorf("there is no example for the function %s", name)
		}
	}
	for name := range specialForms {
		if !strings.Contains(all.String(), name+"(") && name != "stub" && name != "error" {
			t.Errorf("there is no example for the function %s", name)
		}
	}
}
