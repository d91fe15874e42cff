// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"espalier.dev/internal/component"
)

func parse(t testing.TB, text string) *component.Descriptor {
	t.Helper()
	d, err := component.Parse([]byte(text), component.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sum(text []byte) string {
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:])
}

const (
	// empty is the smallest component.
	empty = `
meta: {schemaVersion: v2}
component: {name: example.org/a, version: 1.0.0, provider: acme, repositoryContexts: [], sources: [], componentReferences: [], resources: []}
`
	// hello has a resource with the content hello.
	hello = `
meta: {schemaVersion: v2}
component:
  name: example.org/a
  version: 1.0.0
  provider: acme
  repositoryContexts: []
  sources: []
  componentReferences: []
  resources:
  - name: txt
    version: 1.0.0
    type: plainText
    relation: local
    access: {type: localBlob, localReference: x, mediaType: text/plain}
    digest:
      hashAlgorithm: SHA-256
      normalisationAlgorithm: genericBlobDigest/v1
      value: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
`
	// introspect has the values of a component in OCM's own tests, so that the results can be compared.
	introspect = `
meta: {schemaVersion: v2}
component:
  name: github.com/vasu1124/introspect
  version: 1.0.0
  provider: internal
  componentReferences: []
  repositoryContexts: [{type: ociRegistry, baseUrl: ghcr.io/vasu1124/ocm, componentNameMapping: urlPath}]
  resources:
  - name: introspect-image
    version: 1.0.0
    type: ociImage
    relation: local
    access: {type: localBlob, localReference: "sha256:7f0168496f273c1e2095703a050128114d339c580b0906cd124a93b66ae471e2"}
    digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: ociArtifactDigest/v1, value: 6a1c7637a528ab5957ab60edf73b5298a0a03de02a96be0313ee89b22544840c}
    labels:
    - {name: label1, value: foo}
    - {name: label2, value: bar, signing: true, mergeAlgorithm: test}
  - name: introspect-blueprint
    version: 1.0.0
    type: landscaper.gardener.cloud/blueprint
    relation: local
    access: {type: localBlob, localReference: "sha256:d1187ac17793b2f5fa26175c21cabb6ce388871ae989e16ff9a38bd6b32507bf"}
    digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: d1187ac17793b2f5fa26175c21cabb6ce388871ae989e16ff9a38bd6b32507bf}
  - name: introspect-helm
    version: 0.1.0
    type: helm
    relation: external
    access: {type: localBlob, localReference: "sha256:4186663939459149a21c0bb1cd7b8ff86e0021b29ca45069446d046f808e6bfe"}
    digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: ociArtifactDigest/v1, value: 6229be2be7e328f74ba595d93b814b590b1aa262a1b85e49cc1492795a9e564c}
  sources:
  - {name: introspect, version: 1.0.0, type: git, access: {type: git, repository: github.com/vasu1124/introspect}}
`
	// labelled has labels of which some are signed, of the component and of its provider.
	labelledV2 = `
meta: {schemaVersion: v2}
component:
  name: github.com/vasu1124/introspect
  version: 1.0.0
  provider: '{"name": "internal", "labels": [{"name": "volatile", "value": "prov-value1"}, {"name": "non-volatile", "value": "prov-value2", "signing": true}]}'
  labels: [{name: volatile, value: comp-value1}, {name: non-volatile, value: comp-value2, signing: true}]
`
	labelledV3 = `
apiVersion: ocm.software/v3alpha1
kind: ComponentVersion
metadata:
  name: github.com/vasu1124/introspect
  version: 1.0.0
  provider: {name: internal, labels: [{name: volatile, value: prov-value1}, {name: non-volatile, value: prov-value2, signing: true}]}
  labels: [{name: volatile, value: comp-value1}, {name: non-volatile, value: comp-value2, signing: true}]
`
)

func TestNormalForms(t *testing.T) {
	for name, test := range map[string]struct {
		text, form string
		bytes      int
		want       string
	}{
		"empty v1":         {empty, NormalisationV1, 160, "af75b9e0d415f8d7a5d8abf3714a1ca35b17fe2fe64b94d7b2251824bb97b4fc"},
		"empty v2":         {empty, NormalisationV2, 136, "e965f9fdd87b4f33ab9e23e9aed30a97dbc04bddeea3ccdb4ac327a094b8a9b1"},
		"empty v3":         {empty, NormalisationV3, 136, "e965f9fdd87b4f33ab9e23e9aed30a97dbc04bddeea3ccdb4ac327a094b8a9b1"},
		"empty v4":         {empty, normalisationV4, 136, "e965f9fdd87b4f33ab9e23e9aed30a97dbc04bddeea3ccdb4ac327a094b8a9b1"},
		"hello v1":         {hello, NormalisationV1, 429, "11a30e2095fe46c13d2d301292bbc24741aed72622ef7c53be5c0b283e6945c7"},
		"hello v3":         {hello, NormalisationV3, 366, "3d875b8ce1fd9ba17c43a4d69b9f675b3cdcbd7cebf37b3086ef401587337eee"},
		"introspect v1":    {introspect, NormalisationV1, 1121, "60656e9a2301f21f6f2b6d61e68541f4b3fc0d352ceed26245f948594452622c"},
		"introspect v2":    {introspect, NormalisationV2, 1024, "2f8f029e45f0e158b7e9a5fa6523be0ae9ab9eadc6f3c7f2e37ebb6d8e79bb01"},
		"introspect v3":    {introspect, NormalisationV3, 1024, "2f8f029e45f0e158b7e9a5fa6523be0ae9ab9eadc6f3c7f2e37ebb6d8e79bb01"},
		"labelled v2":      {labelledV2, NormalisationV2, 0, "929988755c6257f5f4a4d3d146d4013070e79030b27c2d3ca1f060232034ad86"},
		"labelled, as v3":  {labelledV3, NormalisationV2, 0, "929988755c6257f5f4a4d3d146d4013070e79030b27c2d3ca1f060232034ad86"},
		"labelled v1":      {labelledV2, NormalisationV1, 0, "51c2957210074a282b62e95c997fef8a07279acb85a6e03ec8bfee00726bb0ca"},
		"labelled v1 (v3)": {labelledV3, NormalisationV1, 0, "50c143554a4f2dd13a77a66b28c86d47bd585230cc2d7a06e45780a26c5fc169"},
	} {
		d := parse(t, test.text)
		text, err := Normalise(d, test.form, StoredDigests(d))
		if err != nil || sum(text) != test.want || test.bytes != 0 && len(text) != test.bytes {
			t.Errorf("%s: %d bytes, %s, %v: %s", name, len(text), sum(text), err, text)
		}
	}
}

// No normal form contains what may change when a component is moved.
func TestWhatMayChange(t *testing.T) {
	for name, change := range map[string][2]string{
		"access":             {"{type: localBlob, localReference: x, mediaType: text/plain}", "{type: ociBlob, ref: r.example.com/a, digest: y}"},
		"repositoryContexts": {"repositoryContexts: []", "repositoryContexts: [{type: ociRegistry, baseUrl: x}]"},
		"an unsigned label":  {"    type: plainText", "    labels: [{name: x, value: y}, {name: z, value: 1, signing: false}]\n    type: plainText"},
		"srcRefs":            {"    type: plainText", "    srcRefs: [{identitySelector: {name: x}}]\n    type: plainText"},
		"signatures":         {"\nmeta:", "\nsignatures: [{name: x}]\nmeta:"},
		"unknown fields":     {"    type: plainText", "    later: x\n    type: plainText"},
	} {
		changed := strings.Replace(hello, change[0], change[1], 1)
		if changed == hello {
			t.Fatal(name)
		}
		for _, form := range []string{NormalisationV1, NormalisationV2, NormalisationV3} {
			before, after := parse(t, hello), parse(t, changed)
			want, _ := Normalise(before, form, StoredDigests(before))
			got, err := Normalise(after, form, StoredDigests(after))
			if err != nil || string(got) != string(want) {
				t.Errorf("%s, %s: %v\n%s\n%s", name, form, err, got, want)
			}
		}
	}
}

func TestPeculiarities(t *testing.T) {
	element := func(name, rest string) string {
		return fmt.Sprintf(`{name: %s, version: 1.0.0, type: t, relation: local, access: {type: localBlob, localReference: x}%s}`, name, rest)
	}
	of := func(schema, resources, references, sources string) string {
		if schema == "v3" {
			return fmt.Sprintf("{apiVersion: ocm.software/v3alpha1, kind: ComponentVersion, metadata: {name: a, version: 1.0.0, provider: {name: p}}, spec: {resources: [%s], references: [%s], sources: [%s]}}", resources, references, sources)
		}
		return fmt.Sprintf("{meta: {schemaVersion: v2}, component: {name: a, version: 1.0.0, provider: p, resources: [%s], componentReferences: [%s], sources: [%s]}}", resources, references, sources)
	}
	reference := `{name: r, version: 1.0.0, componentName: b, labels: [{name: l, value: x, merge: {algorithm: m}}]}`
	duplicates := element("x", "") + "," + strings.Replace(element("x", ""), "1.0.0", "2.0.0", 1)
	for name, test := range map[string]struct {
		text, form  string
		has, hasNot string
	}{
		"labels of references in v3":         {of("v2", "", reference, ""), NormalisationV3, `"labels":[{"merge":{"algorithm":"m"},"name":"l","value":"x"}]`, ""},
		"labels of references in v1":         {of("v2", "", reference, ""), NormalisationV1, `"componentReferences":[[{"componentName":"b"},{"extraIdentity":null},{"name":"r"},{"version":"1.0.0"}]]`, "labels"},
		"references in v1 of v3":             {of("v3", "", reference, ""), NormalisationV1, `{"spec":[{"references":[[{"componentName":"b"},{"name":"r"},{"version":"1.0.0"}]]}]}`, "extraIdentity"},
		"sources in v1":                      {of("v2", "", "", element("s", "")), NormalisationV1, "", `"sources"`},
		"sources in v1 of v3":                {of("v3", "", "", element("s", "")), NormalisationV1, `"sources"`, "access"},
		"sources in v2":                      {of("v2", "", "", element("s", "")), NormalisationV2, `"sources":[{"name":"s"`, "access"},
		"HTML in v1":                         {of("v2", element("x", `, labels: [{name: l, value: "<&>", signing: true}]`), "", ""), NormalisationV1, `"\u003c\u0026\u003e"`, ""},
		"HTML in v3":                         {of("v2", element("x", `, labels: [{name: l, value: "<&>", signing: "true"}]`), "", ""), NormalisationV3, `"<&>"`, ""},
		"no content":                         {strings.Replace(hello, "{type: localBlob, localReference: x, mediaType: text/plain}", "{type: none}", 1), NormalisationV3, "", "digest"},
		"of duplicates the first is changed": {of("v2", duplicates, "", ""), NormalisationV2, `[{"extraIdentity":{"version":"1.0.0"},"name":"x","relation":"local","type":"t","version":"1.0.0"},{"name":"x","relation":"local","type":"t","version":"2.0.0"}]`, ""},
		"duplicates stay as they are in v3":  {of("v2", duplicates, "", ""), NormalisationV3, "", "extraIdentity"},
		"duplicates in v1":                   {of("v2", duplicates, "", ""), NormalisationV1, `{"extraIdentity":[{"version":"1.0.0"}]}`, ""},
		"numbers":                            {of("v2", element("x", `, labels: [{name: l, value: [1, 1.5, 1e30, 100000000000000000000, -0.0], signing: true}]`), "", ""), NormalisationV3, `[1,1.5,1e+30,100000000000000000000,0]`, ""},
		"order by UTF-16":                    {of("v2", element("x", `, labels: [{name: l, value: {"\U0001F600": 1, "\uFB33": 2, "\n": 3}, signing: true}]`), "", ""), NormalisationV3, "{\"\\n\":3,\"\U0001F600\":1,\"\uFB33\":2}", ""},
		"lists are there although empty":     {of("v2", "", "", ""), NormalisationV3, `"componentReferences":[]`, "null"},
		"creation time":                      {strings.Replace(of("v2", "", "", ""), "provider: p", "provider: p, creationTime: '2024-01-01T00:00:00Z'", 1), NormalisationV3, `"creationTime":"2024-01-01T00:00:00Z"`, ""},
		"hints":                              {of("v2", element("x", `, referenceHints: [{type: oci, reference: r}]`), "", ""), NormalisationV2, `"referenceHints":[{"reference":"r","type":"oci"}]`, ""},
	} {
		d := parse(t, test.text)
		text, err := Normalise(d, test.form, StoredDigests(d))
		if err != nil || !strings.Contains(string(text), test.has) || test.hasNot != "" && strings.Contains(string(text), test.hasNot) {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
	if _, err := Normalise(parse(t, empty), "jsonNormalisation/v9", Digests{}); err == nil {
		t.Error("an unknown form is accepted")
	}
}
