// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"errors"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component/credentials"
)

const secretWord = "hunter2-of-the-registry"

// shelf are Secrets and ConfigMaps, by kind and name.
type shelf map[string]map[string]string

func (s shelf) contents(kind, name string) (map[string][]byte, error) {
	if name == "unreadable" {
		return nil, errors.New("the API server does not answer")
	}
	texts, found := s[kind+" "+name]
	if !found {
		return nil, nil
	}
	data := map[string][]byte{}
	for key, text := range texts {
		data[key] = []byte(text)
	}
	return data, nil
}

func docker(host, password string) map[string]string {
	return map[string]string{".dockerconfigjson": `{"auths": {"` + host + `": {"username": "robot", "password": "` + password + `"}}}`}
}

func contextOf(config string, secrets ...string) *lsv1alpha1.Context {
	c := &lsv1alpha1.Context{}
	c.Namespace, c.Name = "team", "default"
	if config != "" {
		c.OCMConfig = &lsv1alpha1.LocalObjectReference{Name: config}
	}
	for _, name := range secrets {
		c.RegistryPullSecrets = append(c.RegistryPullSecrets, lsv1alpha1.LocalObjectReference{Name: name})
	}
	return c
}

func TestAContextNamesCredentials(t *testing.T) {
	objects := shelf{
		"Secret one":   docker("registry.example.com", "first"),
		"Secret two":   docker("other.example.com", "second"),
		"Secret empty": {"something": "else"},
		"Secret ocm": {".ocmcredentialconfig": `{type: credentials.config.ocm.software, consumers: [{identity: {type: OCIRegistry,
			hostname: third.example.com, port: "5000"}, credentials: [{type: Credentials, properties: {username: robot, password: third},}],}]}`},
		"ConfigMap config": {".ocmconfig": `{type: generic.config.ocm.software/v1, configurations: [{type: ocm.config.ocm.software,
			resolvers: [{repository: {type: OCIRegistry, baseUrl: registry.example.com}, prefix: example.com/a}]}]}`},
	}
	got, err := credentials.OfContext(contextOf("config", "one", "two", "empty", "ocm"), objects.contents)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"registry.example.com:443": "first", "other.example.com:443": "second", "third.example.com:5000": "third", "third.example.com:443": "",
	} {
		name, port, _ := strings.Cut(host, ":")
		found, _ := got.Credentials.Find(credentials.Address{
			Type: credentials.TypeOCIRegistry, Scheme: "https", Host: name, Port: port, Path: "a/b",
		})
		if found.Password != want {
			t.Errorf("%s has the password %q, want %q", host, found.Password, want)
		}
	}
	if len(got.Resolvers) != 1 || !got.Resolvers[0].Serves("example.com/a/b") {
		t.Errorf("resolvers %+v", got.Resolvers)
	}
	if len(got.Ignored) != 1 || !strings.Contains(got.Ignored[0], "Secret empty holds no credentials") {
		t.Errorf("ignored %v", got.Ignored)
	}
	if none, err := credentials.OfContext(contextOf(""), objects.contents); err != nil || none.Credentials.Len() != 0 {
		t.Errorf("a Context without either: %+v, %v", none, err)
	}
}

func TestAContextThatIsWrongSaysWhere(t *testing.T) {
	objects := shelf{
		"Secret good":       docker("registry.example.com", "first"),
		"Secret bad":        {".dockerconfigjson": "{auths: " + secretWord},
		"Secret worse":      {".ocmcredentialconfig": "{type: credentials.config.ocm.software, consumers: " + secretWord + "}"},
		"ConfigMap keyless": {"config": "{}"},
		"ConfigMap bad":     {".ocmconfig": "[" + secretWord},
	}
	for name, c := range map[string]struct {
		context *lsv1alpha1.Context
		want    string
	}{
		"no such Secret":    {contextOf("", "good", "absent"), "registryPullSecrets[1]: there is no Secret team/absent: create it"},
		"no name":           {contextOf("", ""), "registryPullSecrets[0]: the name of the Secret is empty"},
		"no such ConfigMap": {contextOf("absent"), "ocmConfig: there is no ConfigMap team/absent: create it"},
		"no key":            {contextOf("keyless"), "ocmConfig: ConfigMap keyless has no key .ocmconfig"},
		"a bad Secret":      {contextOf("", "bad"), "registryPullSecrets[0]: the Secret bad, key .dockerconfigjson: "},
		"a worse Secret":    {contextOf("", "worse"), "registryPullSecrets[0]: the Secret worse, key .ocmcredentialconfig: "},
		"a bad ConfigMap":   {contextOf("bad"), "ocmConfig: ConfigMap bad, key .ocmconfig: "},
		"unreadable":        {contextOf("", "unreadable"), "registryPullSecrets[0]: the API server does not answer"},
	} {
		_, err := credentials.OfContext(c.context, objects.contents)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), secretWord) {
			t.Errorf("%s: the content is told: %v", name, err)
		}
	}
}
