// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"maps"
	"slices"
	"strings"
)

// keys lists the keys that an object of a kubeconfig may have. Those in ignored are allowed but not read.
type keys struct {
	allowed []string
	ignored []string
}

// The objects of a kubeconfig that are read.
var (
	allowedTop = keys{
		allowed: []string{"apiVersion", "kind", "clusters", "users", "contexts", "current-context"},
		ignored: []string{"preferences", "extensions"},
	}
	allowedContext = keys{allowed: []string{"cluster", "user"}, ignored: []string{"namespace", "extensions"}}
	allowedCluster = keys{allowed: []string{"server", "certificate-authority-data", "tls-server-name"}, ignored: []string{"extensions"}}
	allowedUser    = keys{
		allowed: []string{"token", "client-certificate-data", "client-key-data", "username", "password"},
		ignored: []string{"extensions"},
	}
)

// known are the keys that errors may name, in lower case.
var known = knownKeys(allowedTop, allowedContext, allowedCluster, allowedUser, keys{
	allowed: []string{"name", "context", "cluster", "user", "kubeconfig"}, ignored: slices.Collect(maps.Keys(refused)),
})

func knownKeys(all ...keys) map[string]bool {
	result := map[string]bool{}
	for _, each := range all {
		for _, key := range slices.Concat(each.allowed, each.ignored) {
			result[strings.ToLower(key)] = true
		}
	}
	return result
}

const (
	noFiles         = "files of the controller are not read"
	noImpersonation = "impersonation is not supported; use a credential of that user or service account"
)

// refused explains why keys that are valid in a kubeconfig are rejected here.
var refused = map[string]string{
	"exec":                     "commands do not run in the controller; use a token or a client certificate",
	"auth-provider":            "authentication plug-ins do not run in the controller; use a token or a client certificate",
	"tokenFile":                noFiles + "; put the token into token",
	"client-certificate":       noFiles + "; put the certificate into client-certificate-data, in base64",
	"client-key":               noFiles + "; put the key into client-key-data, in base64",
	"certificate-authority":    noFiles + "; put the certificate into certificate-authority-data, in base64",
	"as":                       noImpersonation,
	"as-uid":                   noImpersonation,
	"as-groups":                noImpersonation,
	"as-user-extra":            noImpersonation,
	"proxy-url":                "connections are direct, so that their address can be checked; remove it",
	"insecure-skip-tls-verify": "the server must be verified; put its authority into certificate-authority-data",
	"disable-compression":      "compression is up to the server; remove it",
}

// readKeys returns the values of an object by key. A key that is not allowed is an error, unless its value has no effect: tools write
// "insecure-skip-tls-verify: false".
func readKeys(object node, may keys) (map[string]node, error) {
	fields, err := object.fields()
	if err != nil {
		return nil, err
	}
	values := map[string]node{}
	for _, f := range fields {
		switch {
		case slices.Contains(may.allowed, f.key):
			values[f.key] = f.value
		case slices.Contains(may.ignored, f.key) || f.value.blank():
		case refused[f.key] != "":
			return nil, invalid("%s is rejected: %s", f.value.path, refused[f.key])
		default:
			return nil, invalid("%s is unknown: remove it; allowed here are %s", f.value.path, strings.Join(may.allowed, ", "))
		}
	}
	return values, nil
}

func required(values map[string]node, key, path string) (string, error) {
	text, err := values[key].text()
	if err == nil && text == "" {
		err = invalid("%s.%s is missing: set it", path, key)
	}
	return text, err
}
