// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/gitprovider"
)

func TestCredentialsFromASecret(t *testing.T) {
	got, err := gitprovider.CredentialsFrom(map[string][]byte{
		"username": []byte("robot\n"), "password": []byte("pass word"), "token": []byte(" tok\r\n"), "hmac-key": []byte("ignored"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gitprovider.Credentials{Username: "robot", Password: "pass word", Token: "tok"}, got); diff != "" {
		t.Errorf("the credentials (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct {
		data map[string][]byte
		part string
	}{
		"nothing":        {nil, `no key "token"`},
		"an empty token": {map[string][]byte{"token": []byte("\n"), "password": []byte("canary")}, `no key "token"`},
		"two lines":      {map[string][]byte{"token": []byte("canary\nX-Header: canary")}, `"token" of the Secret contains a line break`},
		"a bad password": {map[string][]byte{"token": []byte("canary"), "password": []byte("canary\x00")}, `"password" of the Secret contains`},
		"no certificate": {map[string][]byte{"token": []byte("canary"), "caFile": []byte("canary")}, `"caFile" of the Secret contains no certificate`},
	} {
		_, err := gitprovider.CredentialsFrom(c.data)
		if gitprovider.ClassOf(err) != gitprovider.Misconfigured || !strings.Contains(err.Error(), c.part) ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestCredentialsAreNeverPrinted(t *testing.T) {
	c := gitprovider.Credentials{Username: "canary-1", Password: "canary-2", Token: "canary-3", CA: []byte("canary-4")}
	holder := struct {
		Name string
		C    gitprovider.Credentials
		P    *gitprovider.Credentials
	}{"x", c, &c}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T %v"} {
		args := []any{holder}
		if verb == "%T %v" {
			args = []any{holder, c}
		}
		if text := fmt.Sprintf(verb, args...); strings.Contains(text, "canary") || strings.Contains(text, "63616e617279") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
	text, err := json.Marshal(holder)
	if err != nil || strings.Contains(string(text), "canary") {
		t.Errorf("JSON is %s, %v", text, err)
	}
}

func TestFingerprintsTellCredentialsApart(t *testing.T) {
	seen := map[[32]byte]string{}
	for name, c := range map[string]gitprovider.Credentials{
		"none": {}, "token": {Token: "a"}, "password": {Password: "a"}, "username": {Username: "a"}, "authority": {CA: []byte("a")},
		"ab-c": {Username: "ab", Password: "c"}, "a-bc": {Username: "a", Password: "bc"},
	} {
		if other, ok := seen[c.Fingerprint()]; ok {
			t.Errorf("%s and %s look the same", name, other)
		}
		seen[c.Fingerprint()] = name
	}
	if again := (gitprovider.Credentials{Token: "a"}); seen[again.Fingerprint()] != "token" {
		t.Error("the same credentials look different")
	}
}
