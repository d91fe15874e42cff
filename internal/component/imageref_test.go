// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
	"testing"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseImageReference(t *testing.T) {
	cases := map[string]struct {
		want    ImageReference
		version string
	}{
		"host.example.com:5000/team/image:1.0.0":      {ImageReference{"host.example.com:5000/team/image", "1.0.0", ""}, "1.0.0"},
		"host:5000/team/image:1.0.0":                  {ImageReference{"host:5000/team/image", "1.0.0", ""}, "1.0.0"},
		"host.example.com:5000/image":                 {ImageReference{"host.example.com:5000/image", "", ""}, "latest"},
		"host.example.com/image@" + digest:            {ImageReference{"host.example.com/image", "", digest}, digest},
		"host.example.com:5000/image:1.0.0@" + digest: {ImageReference{"host.example.com:5000/image", "1.0.0", digest}, digest},
		"ubuntu:18.04":                                {ImageReference{"ubuntu", "18.04", ""}, "18.04"},
		"ubuntu":                                      {ImageReference{"ubuntu", "", ""}, "latest"},
		"docker.io/library/ubuntu:18.04":              {ImageReference{"docker.io/library/ubuntu", "18.04", ""}, "18.04"},
		"oci://host.example.com/charts/echo:0.1.0":    {ImageReference{"host.example.com/charts/echo", "0.1.0", ""}, "0.1.0"},
		"localhost/image:1":                           {ImageReference{"localhost/image", "1", ""}, "1"},
		"[2001:db8::1]:5000/image:1":                  {ImageReference{"[2001:db8::1]:5000/image", "1", ""}, "1"},
		"Host/image:1":                                {ImageReference{"Host/image", "1", ""}, "1"},
		"a__b/c.d/e--f:V_1-2.3":                       {ImageReference{"a__b/c.d/e--f", "V_1-2.3", ""}, "V_1-2.3"},
		"image@sha512+b64u:0123456789abcdef0123456789abcdef01": {
			ImageReference{"image", "", "sha512+b64u:0123456789abcdef0123456789abcdef01"},
			"sha512+b64u:0123456789abcdef0123456789abcdef01",
		},
	}
	for text, c := range cases {
		got, err := ParseImageReference(text)
		if err != nil || got != c.want || got.Version() != c.version {
			t.Errorf("%s: got %+v with version %q, %v", text, got, got.Version(), err)
		}
		if _, after, found := strings.Cut(text, "://"); got.String() != text && (!found || got.String() != after) {
			t.Errorf("%s: put together it is %s", text, got)
		}
	}
}

func TestParseImageReferenceRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "must begin with a repository",
		":1":                                "must begin with a repository",
		"image:":                            "must come a tag",
		"image:" + strings.Repeat("1", 129): "must come a tag",
		"image:a b":                         "must come a tag",
		"image@":                            "must come a digest",
		"image@sha256:0123":                 "must come a digest",
		"image:1@" + digest + "@" + digest:  "must come a digest",
		"Image:1":                           "must begin with a repository",
		"host.example.com/Team/image":       "must begin with a repository",
		"host.example.com//image":           "must begin with a repository",
		"host.example.com/":                 "must begin with a repository",
		"-host.example.com/image":           "must begin with a repository",
		"host.example.com/" + strings.Repeat("a", 250): "must begin with a repository",
		"image name": "must begin with a repository",
		"image\n":    "must begin with a repository",
	} {
		got, err := ParseImageReference(text)
		if err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
			continue
		}
		wantError(t, err, want)
	}
}

func TestImageReferenceErrorsQuoteNothing(t *testing.T) {
	for _, text := range []string{"https://user:hunter2@registry.example.com/image", "hunter2:hunter2!", "HUNTER2/hunter2/Hunter2"} {
		_, err := ParseImageReference(text)
		if err == nil || strings.Contains(strings.ToLower(err.Error()), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
