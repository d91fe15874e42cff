// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"math"
	"slices"
	"strings"

	"espalier.dev/internal/template"
	"espalier.dev/internal/template/keys"
)

// bcrypt hashes a password with sprig's cost.
func (r *run) bcrypt(password string) (string, error) { return r.hashed("bcrypt", "", password) }

// htpasswd writes a line of a password file.
func (r *run) htpasswd(user, password string) (string, error) {
	if strings.Contains(user, ":") {
		return "", template.Problemf("the name of the user must not contain a colon")
	}
	return r.hashed("htpasswd", user+":", password)
}

func (r *run) hashed(function, before, password string) (string, error) {
	if err := r.meter.Step(keys.CostOfBcrypt(keys.DefaultBcrypt)); err != nil {
		return "", err
	}
	hash, err := keys.Bcrypt(r.input.Entropy, password, keys.DefaultBcrypt)
	if err != nil {
		return "", shown(err)
	}
	return r.made(function, before+hash)
}

func (r *run) encryptAES(password, text string) (string, error) {
	if err := r.meter.Build(int64(len(text))); err != nil {
		return "", err
	}
	if err := r.meter.Step(costOfCipher + int64(len(text))/handledPerStep); err != nil {
		return "", err
	}
	encrypted, err := keys.EncryptAES(r.input.Entropy, password, text)
	if err != nil {
		return "", shown(err)
	}
	return r.made("encryptAES", encrypted)
}

const (
	// costOfCipher is the cost of preparing a key in steps.
	costOfCipher = 20
	// costOfDerivation is the cost of deriving a password. By design, it takes long and uses 32 MiB, which are freed
	// afterwards; so few derivations fit into one rendering that the steps are a sufficient limit.
	costOfDerivation = 300_000
)

// kindsOfPassword are the kinds of derived passwords.
var kindsOfPassword = []string{"basic", "long", "maximum", "medium", "pin", "short"}

// derivePassword derives a password for a site from a master password. It depends only on its arguments.
//
//lint:allow parameters the template calls it with these
func (r *run) derivePassword(counter any, kind, password, user, site string) (string, error) {
	n, err := whole(counter)
	if err != nil {
		return "", err
	}
	if n < 0 || n > math.MaxUint32 {
		return "", template.Problemf("the counter must be from 0 to %d", math.MaxUint32)
	}
	if !slices.Contains(kindsOfPassword, kind) {
		return "", template.Problemf("the kind of password must be one of %s", strings.Join(kindsOfPassword, ", "))
	}
	size := int64(len(password) + len(user) + len(site))
	if err := r.meter.Build(size); err != nil {
		return "", err
	}
	if err := r.meter.Step(costOfDerivation + size/handledPerStep); err != nil {
		return "", err
	}
	return library["derivePassword"].value.Interface().(func(uint32, string, string, string, string) string)(
		uint32(n),
		kind,
		password,
		user,
		site,
	), nil
}
