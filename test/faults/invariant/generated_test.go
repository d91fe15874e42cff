// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestGeneratedOnce(t *testing.T) {
	one, other := "generated-"+strings.Repeat("1", 40), "generated-"+strings.Repeat("2", 40)
	state := func(text string) edit {
		return set(base64.StdEncoding.EncodeToString([]byte(`{"password":"`+text+`"}`)), "data", "config")
	}
	config := func(text string) edit { return set(text, "spec", "config", "password") }
	check(t, "I16", map[string]example{
		"the same everywhere":      {tell().write("Secret state", state(one)).write("DeployItem a", config(one)).write("DeployItem a", job("2"), config(one)), ""},
		"another item":             {tell().write("Secret state", state(one)).write("DeployItem a", config(other)), "DeployItem garden/a, revision 2: it has " + other},
		"another state":            {tell().write("Secret state", state(one)).write("Secret state", state(other)), "Secret garden/state, revision 2: it has " + other},
		"an item before the state": {tell().write("DeployItem a", config(other)).write("Secret state", state(one)), "but " + other + " was generated before"},
	})
}
