// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/api/landscaper/v1alpha1"
)

func items(count int) []v1alpha1.DeployItemTemplate {
	timeout := v1alpha1.Duration("5m")
	list := make([]v1alpha1.DeployItemTemplate, count)
	for i := range list {
		list[i] = v1alpha1.DeployItemTemplate{
			Name:   fmt.Sprintf("item-%d", i),
			Type:   v1alpha1.DeployItemTypeMock,
			Target: &v1alpha1.ObjectReference{Name: "cluster", Namespace: "default"},
			Labels: map[string]string{"number": fmt.Sprint(i)},
			Configuration: &runtime.RawExtension{
				Raw: []byte(`{"apiVersion":"mock.deployer.landscaper.gardener.cloud/v1alpha1","kind":"ProviderConfiguration"}`),
			},
			Timeout: &timeout,
		}
		if i > 0 {
			list[i].DependsOn = []string{list[i-1].Name}
		}
	}
	return list
}

func TestSmallListsStayReadable(t *testing.T) {
	spec := v1alpha1.ExecutionSpec{DeployItemsCompressed: "left over"}
	if err := spec.SetItems(items(3)); err != nil {
		t.Fatal(err)
	}
	if len(spec.DeployItems) != 3 || spec.DeployItemsCompressed != "" {
		t.Errorf("%d items are plain, the compressed form is %q", len(spec.DeployItems), spec.DeployItemsCompressed)
	}
}

func TestLargeListsAreCompressed(t *testing.T) {
	spec := v1alpha1.ExecutionSpec{DeployItems: items(1)}
	if err := spec.SetItems(items(1000)); err != nil {
		t.Fatal(err)
	}
	if spec.DeployItems != nil || spec.DeployItemsCompressed == "" {
		t.Error("a list of 1000 items is not compressed")
	}
	if plain, size := len(text(t, items(1000))), len(spec.DeployItemsCompressed); size > plain/4 {
		t.Errorf("%d bytes are only compressed to %d", plain, size)
	}
}

// The limit is part of what users see in their objects, so it must not move by accident.
func TestCompressionBeginsAbove64KiB(t *testing.T) {
	sized := func(size int) []v1alpha1.DeployItemTemplate {
		list := items(1)
		list[0].Labels["filler"] = strings.Repeat("x", size-len(text(t, list))-len(`,"filler":""`))
		return list
	}
	for size, want := range map[int]bool{64 << 10: false, 64<<10 + 1: true} {
		var spec v1alpha1.ExecutionSpec
		if err := spec.SetItems(sized(size)); err != nil {
			t.Fatal(err)
		}
		if got := spec.DeployItemsCompressed != ""; got != want {
			t.Errorf("%d bytes: compressed %t, want %t", size, got, want)
		}
	}
}

func TestItemsReturnsWhatWasSet(t *testing.T) {
	for _, count := range []int{0, 1, 10, 500, 2000} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			var first, second v1alpha1.ExecutionSpec
			want := items(count)
			for _, spec := range []*v1alpha1.ExecutionSpec{&first, &second} {
				if err := spec.SetItems(want); err != nil {
					t.Fatal(err)
				}
			}
			got, err := first.Items()
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Error("the items have changed")
			}
			if first.DeployItemsCompressed != second.DeployItemsCompressed {
				t.Error("the same items give different bytes")
			}
		})
	}
}

func TestCompressedFormWins(t *testing.T) {
	spec := v1alpha1.ExecutionSpec{DeployItems: items(1), DeployItemsCompressed: packed(t, text(t, items(2)))}
	got, err := spec.Items()
	if err != nil || len(got) != 2 {
		t.Errorf("got %d items, %v", len(got), err)
	}
}

func TestDamagedItems(t *testing.T) {
	whole, err := base64.StdEncoding.DecodeString(packed(t, text(t, items(50))))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ compressed, complaint string }{
		"not base64":           {"%%%", "not base64"},
		"not gzip":             {base64.StdEncoding.EncodeToString([]byte("plain text")), "not gzip"},
		"cut short":            {base64.StdEncoding.EncodeToString(whole[:len(whole)/2]), "damaged gzip"},
		"bits flipped":         {base64.StdEncoding.EncodeToString(flipped(whole)), "damaged gzip"},
		"not JSON":             {packed(t, "{{"), "not a JSON list of deploy items"},
		"an object, no list":   {packed(t, `{"name":"a"}`), "not a JSON list of deploy items"},
		"one item is a number": {packed(t, `[1]`), "not a JSON list of deploy items"},
		"a gzip bomb":          {packed(t, strings.Repeat(" ", 33<<20)), "larger than 32 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := v1alpha1.ExecutionSpec{DeployItemsCompressed: test.compressed, DeployItems: items(1)}
			got, err := spec.Items()
			if err == nil || got != nil {
				t.Fatalf("got %d items, %v", len(got), err)
			}
			for _, part := range []string{"spec.deployItemsCompressed", test.complaint} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not contain %q", err, part)
				}
			}
		})
	}
}

// What is in one execution must not hide all others from a controller.
func TestDamagedItemsDoNotHideOtherObjects(t *testing.T) {
	list := `{"items":[{"metadata":{"name":"a"},"spec":{"deployItemsCompressed":"%%%"}},{"metadata":{"name":"b"},"spec":{}}]}`
	var executions v1alpha1.ExecutionList
	if err := json.Unmarshal([]byte(list), &executions); err != nil {
		t.Fatal(err)
	}
	if len(executions.Items) != 2 || executions.Items[0].Spec.DeployItemsCompressed != "%%%" {
		t.Errorf("got %+v", executions.Items)
	}
}

func TestSetItemsRefusesBrokenConfigurations(t *testing.T) {
	broken := items(1)
	broken[0].Configuration.Raw = []byte("{")
	spec := v1alpha1.ExecutionSpec{DeployItems: items(2)}
	if err := spec.SetItems(broken); err == nil {
		t.Error("half an object was written")
	}
	if len(spec.DeployItems) != 2 {
		t.Error("the items were replaced all the same")
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// packed compresses text as other clients do.
func packed(t *testing.T, text string) string {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(buffer.Bytes())
}

// flipped changes the checksum at the end.
func flipped(packed []byte) []byte {
	changed := bytes.Clone(packed)
	changed[len(changed)-8] ^= 0xff
	return changed
}
