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

// bcrypt hashes a password, with the cost that sprig has.
func (r *run) bcrypt(password string) (string, error) { return r.hashed("bcrypt", "", password) }

// htpasswd writes a line of a file of passwords.
func (r *run) htpasswd(user, password string) (string, error) {
	if strings.Contains(user, ":") {
		return "", template.Problemf("there cannot be a colon in the name of the user")
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
	// costOfCipher is what it takes to prepare a key, in steps.
	costOfCipher = 20
	// costOfDerivation is what it takes to derive a password. It is meant to take long, and 32 MiB, which are free again when it
	// ends; so few fit into one rendering that the steps are limit enough.
	costOfDerivation = 300_000
)

// kindsOfPassword are what a password can look like that is derived.
var kindsOfPassword = []string{"basic", "long", "maximum", "medium", "pin", "short"}

// derivePassword computes a password for a site out of a single one. It follows from the arguments alone.
//
//lint:allow parameters the template calls it with these
func (r *run) derivePassword(counter any, kind, password, user, site string) (string, error) {
	n, err := whole(counter)
	if err != nil {
		return "", err
	}
	if n < 0 || n > math.MaxUint32 {
		return "", template.Problemf("the counter has to be from 0 to %d", math.MaxUint32)
	}
	if !slices.Contains(kindsOfPassword, kind) {
		return "", template.Problemf("the kind of password has to be one of %s", strings.Join(kindsOfPassword, ", "))
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
