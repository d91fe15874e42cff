// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// ParseDockerConfig parses the format of docker login, which Secrets keep under .dockerconfigjson.
func ParseDockerConfig(data []byte) (Set, error) {
	object, err := readObject(data)
	if err != nil {
		return Set{}, fmt.Errorf("docker configuration: %w", err)
	}
	set, err := dockerConfig(fields{values: object})
	if err != nil {
		return Set{}, fmt.Errorf("docker configuration: %w", err)
	}
	return set, nil
}

func dockerConfig(document fields) (Set, error) {
	auths, err := document.object("auths")
	if err != nil {
		return Set{}, err
	}
	var set Set
	for _, address := range slices.Sorted(maps.Keys(auths.values)) {
		at := fields{path: "auths"}
		login, err := auths.object(address)
		if err != nil {
			return Set{}, fmt.Errorf("%s: each entry must be an object", at.path)
		}
		// The name of the entry is a host, but may be a URL with a password by mistake.
		login.path = fmt.Sprintf("auths (entry for host %s)", hostOf(address).host)
		credential, err := dockerLogin(login)
		if err != nil {
			return Set{}, err
		}
		set.entries = append(set.entries, entry{consumer: hostOf(address), credential: credential})
	}
	return set, nil
}

func dockerLogin(login fields) (Credential, error) {
	var c Credential
	var auth string
	err := login.texts(map[string]*string{
		"username": &c.Username, "password": &c.Password, "identitytoken": &c.IdentityToken, "auth": &auth,
	})
	if err != nil || auth == "" {
		return c, err
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(auth))
	if err != nil {
		decoded, err = base64.RawStdEncoding.DecodeString(strings.TrimSpace(auth))
	}
	username, password, found := strings.Cut(string(decoded), ":")
	if err != nil || !found {
		return c, fmt.Errorf("%s: must be user and password, separated by a colon, in base64", login.at("auth"))
	}
	c.Username, c.Password = username, strings.TrimRight(password, "\x00")
	return c, nil
}

// hostOf parses the name of an entry: a host, with or without port and path, or a URL as for Docker Hub. Paths of the API are ignored.
func hostOf(address string) consumer {
	var c consumer
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return consumer{kind: TypeOCIRegistry, host: "invalid"}
	}
	c.kind, c.host, c.port = TypeOCIRegistry, strings.ToLower(parsed.Hostname()), parsed.Port()
	c.path = strings.Trim(parsed.Path, "/")
	if c.path == "v1" || c.path == "v2" {
		c.path = ""
	}
	return c
}
