// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/failure"
)

func TestUnpack(t *testing.T) {
	want := blueprint.Files{"blueprint.yaml": []byte("a"), "deep/b": []byte("c")}
	data, err := archive.Tar(want)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Unpack(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	_, err = Unpack(data[:len(data)/2])
	if err == nil || !strings.Contains(err.Error(), "unpack the blueprint: ") || failure.KindOf(err) != failure.Terminal {
		t.Errorf("got %v (%s)", err, failure.KindOf(err))
	}
}
