// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const canary = "canary-0123456789"

// user returns the user name of the credential that is found, or the empty string.
func user(s Set, at Address) string {
	c, found := s.Find(at)
	if !found {
		return ""
	}
	return c.Username
}

func registryAt(host, path string) Address {
	name, port, found := strings.Cut(host, ":")
	if !found {
		port = "443"
	}
	return Address{Type: TypeOCIRegistry, Scheme: "https", Host: name, Port: port, Path: path}
}

func TestDockerConfig(t *testing.T) {
	auth := base64.StdEncoding.EncodeToString([]byte("auth:pass:word"))
	set, err := ParseDockerConfig([]byte(`{"auths": {
		"ghcr.io": {"username": "plain", "password": "p"},
		"registry.example.com:5000": {"auth": "` + auth + `"},
		"https://index.docker.io/v1/": {"username": "hub", "password": "p"},
		"gcr.io/team": {"username": "team", "identitytoken": "token"}
	}, "credHelpers": {"x": "y"}, "HttpHeaders": {}}`))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[Address]string{
		registryAt("ghcr.io", "a/b"):                     "plain",
		registryAt("GHCR.io", "a/b"):                     "plain",
		registryAt("registry.example.com:5000", "a"):     "auth",
		registryAt("registry.example.com", "a"):          "",
		registryAt("docker.io", "library/x"):             "hub",
		registryAt("registry-1.docker.io", "a"):          "hub",
		registryAt("gcr.io", "team/a"):                   "team",
		registryAt("gcr.io", "teams/a"):                  "",
		registryAt("example.org", ""):                    "",
		{Type: TypeHelmChartRepository, Host: "ghcr.io"}: "",
	} {
		if got := user(set, at); got != want {
			t.Errorf("%+v: got %q, want %q", at, got, want)
		}
	}
	if c, _ := set.Find(registryAt("registry.example.com:5000", "")); c.Password != "pass:word" {
		t.Error("the password is another one")
	}
	if c, _ := set.Find(registryAt("gcr.io", "team")); c.IdentityToken != "token" {
		t.Error("there is no identity token")
	}
}

// The document of the upstream test is YAML with trailing commas in its lists, which JSON does not allow.
const consumers = `{
  type: credentials.config.ocm.software,
  consumers: [
    {identity: {type: OCIRegistry, hostname: "r.example.com", port: 5000,}, credentials: [{type: Credentials, properties: {username: port, password: p, certificateAuthority: CA,},},],},
    {identity: {type: OCIRegistry, hostname: r.example.com}, credentials: [{type: Credentials/v1, properties: {username: host, password: p}}]},
    {identity: {type: OCIRegistry/v1, hostname: r.example.com, pathprefix: /a/b/}, credentials: [{type: HashiCorpVault}, {type: Credentials, properties: {username: path, password: p}}]},
    {identity: {type: OCIRegistry, hostname: r.example.com, scheme: http}, credentials: [{type: Credentials, properties: {username: plain, password: p}}]},
    {identity: {type: OCIRegistry, pathprefix: a/b/c/d}, credentials: [{type: Credentials, properties: {username: anywhere, password: p}}]},
    {identities: [{type: HelmChartRepository, hostname: charts.example.com}], credentials: [{type: Credentials, properties: {username: charts, password: p}}]},
    {identity: {type: OCIRegistry, hostname: nothing.example.com}, credentials: []},
  ],
}`

func TestCredentialConfig(t *testing.T) {
	config, err := ParseCredentialConfig([]byte(consumers))
	if err != nil {
		t.Fatal(err)
	}
	plain := registryAt("r.example.com:80", "a/b")
	plain.Scheme = "http"
	for at, want := range map[Address]string{
		registryAt("r.example.com:5000", "a/b/c/d"): "port",
		registryAt("r.example.com", "x"):            "host",
		registryAt("r.example.com", "a/b"):          "path",
		registryAt("r.example.com", "a/b/c/d"):      "path",
		registryAt("r.example.com", "a/bc"):         "host",
		plain:                                       "plain",
		registryAt("other.example.com", "a/b/c/d"):  "anywhere",
		registryAt("other.example.com", "a/b/c"):    "",
		registryAt("charts.example.com", ""):        "",
		registryAt("nothing.example.com", ""):       "",
		{Type: TypeHelmChartRepository, Scheme: "https", Host: "charts.example.com", Port: "443", Path: "x"}: "charts",
	} {
		if got := user(config.Credentials, at); got != want {
			t.Errorf("%+v: got %q, want %q", at, got, want)
		}
	}
	if c, _ := config.Credentials.Find(registryAt("r.example.com:5000", "")); c.CertificateAuthority != "CA" {
		t.Error("there is no authority")
	}
	if len(config.Ignored) != 1 || !strings.Contains(config.Ignored[0], "consumers[2].credentials[0].type: credentials of type \"HashiCorpVault\"") {
		t.Errorf("ignored: %q", config.Ignored)
	}
	other, err := ParseCredentialConfig([]byte("type: generic.config.ocm.software/v1\nconfigurations: []"))
	if err != nil || other.Credentials.Len() != 0 || len(other.Ignored) != 1 {
		t.Errorf("got %v, %v", other, err)
	}
}

// Among equals the last wins, so that a Secret of the Context takes precedence over the OCM configuration.
func TestLaterComesFirst(t *testing.T) {
	one, _ := ParseDockerConfig([]byte(`{"auths": {"r.example.com": {"username": "one"}}}`))
	two, _ := ParseDockerConfig([]byte(`{"auths": {"r.example.com": {"username": "two"}}}`))
	if got := user(one.And(two), registryAt("r.example.com", "")); got != "two" {
		t.Errorf("got %q", got)
	}
	if one.Len() != 1 {
		t.Error("a set was changed")
	}
}

func TestConfig(t *testing.T) {
	config, err := ParseConfig([]byte(`
type: generic.config.ocm.software/v1
configurations:
- type: ocm.config.ocm.software
  aliases: {x: {type: OCIRegistry}}
  resolvers:
  - {repository: {type: OCIRegistry, baseUrl: low.example.com}, priority: 5}
  - {repository: {type: OCIRegistry, baseUrl: short.example.com}, prefix: github.com/acme}
  - {repository: {type: OCIRegistry, baseUrl: long.example.com}, prefix: github.com/acme/app/}
  - {repository: {type: OCIRegistry, baseUrl: high.example.com}, prefix: github.com/other, priority: "20"}
- type: credentials.config.ocm.software/v1
  consumers:
  - identity: {type: OCIRegistry, hostname: ghcr.io}
    credentials: [{type: Credentials, properties: {username: me, password: p}}]
  repositories:
  - repository: {type: DockerConfig/v1, dockerConfig: {auths: {docker.io: {username: hub}}}, propagateConsumerIdentity: true}
  - repository: {type: DockerConfig/v1, dockerConfig: '{"auths": {"gcr.io": {"username": "text"}}}'}
  - repository: {type: DockerConfig/v1, dockerConfigFile: /etc/passwd}
- type: logging.config.ocm.software
`))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, r := range config.Resolvers {
		order = append(order, fmt.Sprint(r.Repository["baseUrl"], " ", r.Prefix, " ", r.Priority))
	}
	want := []string{"high.example.com github.com/other 20", "long.example.com github.com/acme/app 10", "short.example.com github.com/acme 10", "low.example.com  5"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
	for host, want := range map[string]string{"ghcr.io": "me", "docker.io": "hub", "gcr.io": "text"} {
		if got := user(config.Credentials, registryAt(host, "a")); got != want {
			t.Errorf("%s: got %q, want %q", host, got, want)
		}
	}
	ignored := strings.Join(config.Ignored, "\n")
	for _, part := range []string{"configurations[0].aliases: aliases", "repositories[2].repository: credential repositories", `type "logging.config.ocm.software"`} {
		if !strings.Contains(ignored, part) {
			t.Errorf("%q is not in %s", part, ignored)
		}
	}
	serving := config.Resolvers[2]
	if !serving.Serves("github.com/acme/x") || serving.Serves("github.com/acmes") || !config.Resolvers[3].Serves("x") {
		t.Error("prefixes do not count by segments")
	}
	for _, empty := range []string{"", "\n", "null", "{}"} {
		if config, err := ParseConfig([]byte(empty)); err != nil || len(config.Resolvers) > 0 {
			t.Errorf("%q: got %v, %v", empty, config, err)
		}
	}
	direct, err := ParseConfig([]byte(consumers))
	if err != nil || direct.Credentials.Len() != 6 {
		t.Errorf("got %v, %v", direct.Credentials.Len(), err)
	}
}

func TestErrorsContainNoSecrets(t *testing.T) {
	docker := func(data []byte) error { _, err := ParseDockerConfig(data); return err }
	ocm := func(data []byte) error { _, err := ParseConfig(data); return err }
	consumer := func(data []byte) error { _, err := ParseCredentialConfig(data); return err }
	for name, test := range map[string]struct {
		parse func([]byte) error
		text  string
		want  string
	}{
		"no YAML":           {docker, "{" + canary, "not well-formed"},
		"no object":         {docker, canary, "must be an object"},
		"auths":             {docker, `{"auths": "` + canary + `"}`, "auths: must be an object"},
		"an entry":          {docker, `{"auths": {"` + canary + `": "` + canary + `"}}`, "auths: each entry must be an object"},
		"a password":        {docker, `{"auths": {"https://user:` + canary + `@r.io": {"password": ["` + canary + `"]}}}`, "auths (entry for host r.io).password: must be a text"},
		"auth":              {docker, `{"auths": {"r.io": {"auth": "` + canary + `"}}}`, "auths (entry for host r.io).auth: must be user and password"},
		"aliases of YAML":   {ocm, "a: &x [" + canary + "]\nb: *x", "aliases are not allowed"},
		"depth":             {ocm, strings.Repeat("{a: ", 40) + canary + strings.Repeat("}", 40), "nested deeper"},
		"size":              {ocm, strings.Repeat(" ", maxBytes) + canary, "at most"},
		"no type":           {ocm, "password: " + canary, "type: is required"},
		"properties":        {consumer, "type: credentials.config.ocm.software\nconsumers: [{identity: {type: OCIRegistry}, credentials: [{type: Credentials, properties: " + canary + "}]}]", "consumers[0].credentials[0].properties: must be an object"},
		"a property":        {consumer, "type: credentials.config.ocm.software\nconsumers: [{identity: {type: OCIRegistry}, credentials: [{type: Credentials, properties: {password: [" + canary + "]}}]}]", "properties.password: must be a text"},
		"no identity":       {consumer, "type: credentials.config.ocm.software\nconsumers: [{credentials: []}]", "consumers[0].identity: is required"},
		"an identity":       {consumer, "type: credentials.config.ocm.software\nconsumers: [{identity: {hostname: x}, credentials: [{type: Credentials}]}]", "consumers[0].identity.type: is required"},
		"a priority":        {ocm, "type: ocm.config.ocm.software\nresolvers: [{repository: {type: OCIRegistry}, priority: " + canary + "}]", "resolvers[0].priority: must be a whole number"},
		"no repository":     {ocm, "type: ocm.config.ocm.software\nresolvers: [{prefix: x}]", "resolvers[0].repository.type: is required"},
		"a list of nothing": {ocm, "type: ocm.config.ocm.software\nresolvers: [null]", "resolvers[0]: must be an object"},
		"nested generics":   {ocm, "{type: generic.config.ocm.software, configurations: [{type: generic.config.ocm.software, configurations: [{type: generic.config.ocm.software, configurations: [{type: generic.config.ocm.software, configurations: [{type: generic.config.ocm.software}]}]}]}]}", "nested deeper than 4"},
	} {
		err := test.parse([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
			continue
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the error tells the secret: %v", name, err)
		}
	}
	c := Credential{Password: canary}
	if text := fmt.Sprintf("%v %+v %#v %s", c, c, c, c); strings.Contains(text, canary) {
		t.Errorf("a credential is printed as %s", text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(consumers))
	f.Add([]byte(`{"auths": {"r.io": {"auth": "YTpi"}}}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = ParseDockerConfig(data)
		_, _ = ParseConfig(data)
		_, _ = ParseCredentialConfig(data)
	})
}
