// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]gitprovider.Address{
		"https://GitHub.com/Acme/Shop.git": {
			Scheme: "https", Host: "github.com", CloneURL: "https://GitHub.com/Acme/Shop.git", Segments: []string{"Acme", "Shop"},
		},
		"https://acme@dev.azure.com/acme/Web%20Team/_git/shop/": {
			Scheme:   "https",
			Host:     "dev.azure.com",
			CloneURL: "https://dev.azure.com/acme/Web%20Team/_git/shop/",
			Segments: []string{"acme", "Web Team", "_git", "shop"},
		},
		"https://git.example.com:8443/scm/~ada/shop.git": {
			Scheme:   "https",
			Host:     "git.example.com:8443",
			CloneURL: "https://git.example.com:8443/scm/~ada/shop.git",
			Segments: []string{"scm", "~ada", "shop"},
		},
		"https://[2001:db8::1]/a/b": {
			Scheme:   "https",
			Host:     "[2001:db8::1]",
			CloneURL: "https://[2001:db8::1]/a/b",
			Segments: []string{"a", "b"},
		},
	} {
		got, err := gitprovider.ParseAddress(text, dial.Rules{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for text, part := range map[string]string{
		"":                                                "does not begin with https://",
		"github.com/acme/shop":                            "does not begin with https://",
		"git@github.com:acme/shop.git":                    "is not a valid URL",
		"ssh://git@github.com/acme/shop":                  "not the one for SSH",
		"file:///etc/passwd":                              "does not begin with https://",
		"http://github.com/acme/shop":                     "in the clear",
		"http://127.0.0.1/acme/shop":                      "in the clear",
		"https://user:canary@github.com/acme/s":           "contains a password",
		"https://user:ca nary@github.com/acme/s":          "is not a valid URL",
		"https:///acme/shop":                              "has no host",
		"https://:443/acme/shop":                          "has no host",
		"https://github.com":                              "has no path",
		"https://github.com/":                             "has no path",
		"https://github.com/acme/shop?ref=x":              "after ? or #",
		"https://github.com/acme/shop#readme":             "after ? or #",
		"https://github.com/acme//shop":                   "empty part",
		"https://github.com/acme/../shop":                 "a dot as a part",
		"https://github.com/acme/%2e%2e":                  "a dot as a part",
		"https://github.com/acme/a%2Fb":                   "empty part",
		"https://github.com/acme/.git":                    "empty part",
		"https://github.com/acme/a%0Ab":                   "control character",
		"https://github.com/" + strings.Repeat("a", 3000): "longer than",
	} {
		_, err := gitprovider.ParseAddress(text, dial.Rules{})
		if gitprovider.ClassOf(err) != gitprovider.Misconfigured || err == nil {
			t.Errorf("%q: error %v", text, err)
			continue
		}
		if !strings.HasPrefix(err.Error(), "url ") || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "nary") {
			t.Errorf("%q: error %q, want it to name the field and to contain %q", text, err, part)
		}
	}
}

func TestPlainHTTPIsForLoopbackOnly(t *testing.T) {
	rules := dial.Rules{AllowLoopback: true}
	for _, text := range []string{"http://127.0.0.1:3000/acme/shop", "http://localhost/acme/shop", "http://[::1]:3000/acme/shop"} {
		if address, err := gitprovider.ParseAddress(text, rules); err != nil || address.Scheme != "http" {
			t.Errorf("%s: %+v, %v", text, address, err)
		}
	}
	for _, text := range []string{"http://10.0.0.1/acme/shop", "http://localhost.example.com/acme/shop", "http://127.0.0.1.example.com/acme/shop"} {
		if _, err := gitprovider.ParseAddress(text, rules); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{
		"https://github.com/acme/shop.git", "https://a:b@c/d", "https://dev.azure.com/o/p%20q/_git/r", "http://localhost:1/a", "https://x/%2e%2e/..git", "git@h:a/b",
	} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, loopback bool) {
		address, err := gitprovider.ParseAddress(text, dial.Rules{AllowLoopback: loopback})
		if err != nil {
			if gitprovider.ClassOf(err) != gitprovider.Misconfigured {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if address.Scheme != "https" && !loopback || address.Host == "" || len(address.Segments) == 0 ||
			strings.Contains(address.CloneURL, "@"+address.Host) {
			t.Errorf("%q: %+v", text, address)
		}
		odd := func(s string) bool { return s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\n\r\x00") }
		if slices.ContainsFunc(address.Segments, odd) {
			t.Errorf("%q: segments %q", text, address.Segments)
		}
		again, err := gitprovider.ParseAddress(address.CloneURL, dial.Rules{AllowLoopback: loopback})
		if err != nil || !cmp.Equal(again.Segments, address.Segments) || again.Host != address.Host {
			t.Errorf("%q becomes %q, which is %+v, %v", text, address.CloneURL, again, err)
		}
	})
}
