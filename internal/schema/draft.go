// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// draft is a version of JSON Schema.
type draft struct {
	version int
	dialect *jsonschema.Draft
	// uri is its identifier for the compiler.
	uri string
}

// drafts are keyed by their URI without its scheme, because people write both http and https.
var drafts = map[string]draft{
	"json-schema.org/draft-04/schema":      {4, jsonschema.Draft4, "http://json-schema.org/draft-04/schema#"},
	"json-schema.org/draft-06/schema":      {6, jsonschema.Draft6, "http://json-schema.org/draft-06/schema#"},
	"json-schema.org/draft-07/schema":      {7, jsonschema.Draft7, "http://json-schema.org/draft-07/schema#"},
	"json-schema.org/draft/2019-09/schema": {2019, jsonschema.Draft2019, "https://json-schema.org/draft/2019-09/schema"},
	"json-schema.org/schema":               defaultDraft,
	"json-schema.org/draft/2020-12/schema": {2020, jsonschema.Draft2020, "https://json-schema.org/draft/2020-12/schema"},
}

// defaultDraft is the draft of blueprints that name none.
var defaultDraft = draft{2019, jsonschema.Draft2019, "https://json-schema.org/draft/2019-09/schema"}

// draftFor returns the draft that a jsonSchemaVersion or $schema names. The scheme of the URI and a trailing # do not
// matter.
func draftFor(uri string) (draft, error) {
	if uri == "" {
		return defaultDraft, nil
	}
	_, name, ok := strings.Cut(strings.TrimSuffix(uri, "#"), "://")
	if found, known := drafts[name]; ok && known {
		return found, nil
	}
	return draft{}, invalid(
		"the version %q of JSON Schema is unknown: use, for example, https://json-schema.org/draft/2019-09/schema, or leave it out",
		uri,
	)
}
