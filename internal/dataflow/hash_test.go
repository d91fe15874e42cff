// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

func hasher(t testing.TB, key string) dataflow.Hasher {
	t.Helper()
	h, err := dataflow.NewHasher(bytes.Repeat([]byte(key), 32))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAShortKeyIsRefused(t *testing.T) {
	if _, err := dataflow.NewHasher(make([]byte, 31)); err == nil {
		t.Error("a key of 31 bytes was accepted")
	}
}

// TestTheHashOfAnImport compares the hash with a second way to compute it, so that it does not change by accident: every running
// installation would find its imports changed.
func TestTheHashOfAnImport(t *testing.T) {
	resolved := dataflow.Resolved{"x": {Name: "x", Type: lsv1alpha1.ImportTypeData, Data: map[string]any{"b": int64(1), "a": "z"}}}
	mac := hmac.New(sha256.New, bytes.Repeat([]byte("k"), 32))
	mac.Write([]byte(`["import",["data",{"a":"z","b":1}]]`))
	if got, want := hasher(t, "k").Hash(resolved).ByImport["x"], hex.EncodeToString(mac.Sum(nil)); got != want {
		t.Errorf("hash = %s, want %s", got, want)
	}
}

// hashable has one import of each kind; change alters the facts before they are resolved.
func hashable(t testing.TB, change func(*dataflow.Facts)) dataflow.Resolved {
	t.Helper()
	withSecret := cluster(t, "us")
	withSecret.Spec = lsv1alpha1.TargetSpec{Type: "vm", SecretRef: &lsv1alpha1.LocalSecretReference{Name: "creds", Key: "token"}}
	facts := dataflow.Facts{
		DataObjects: []*lsv1alpha1.DataObject{dataObject(t, "config", `{a: 1, b: [1, 2]}`)},
		Targets:     []*lsv1alpha1.Target{cluster(t, "eu"), withSecret},
		Secrets:     map[string]map[string][]byte{"creds": {"token": []byte("t"), "other": []byte("o")}, "login": {"user": []byte("u")}},
		ConfigMaps:  map[string]map[string][]byte{"settings": {"s": []byte("1")}},
	}
	if change != nil {
		change(&facts)
	}
	return resolve(t, root, `
data: [{name: data, dataRef: config}, {name: secret, secretRef: {name: login}}, {name: map, configMapRef: {name: settings}}]
targets: [{name: one, target: us}, {name: list, targets: [eu, us]}, {name: targets, targetMap: {a: eu}}]
`, facts)
}

func TestWhatChangesAHash(t *testing.T) {
	h := hasher(t, "k")
	base := h.Hash(hashable(t, nil))
	for name, c := range map[string]struct {
		change func(*dataflow.Facts)
		want   string
	}{
		"nothing":                {nil, ""},
		"the value of data":      {func(f *dataflow.Facts) { f.DataObjects[0].Data.Raw = []byte(`{"a":2,"b":[1,2]}`) }, "data"},
		"the order of a list":    {func(f *dataflow.Facts) { f.DataObjects[0].Data.Raw = []byte(`{"a":1,"b":[2,1]}`) }, "data"},
		"the order of keys":      {func(f *dataflow.Facts) { f.DataObjects[0].Data.Raw = []byte(`{ "b": [1,2.0], "a":1.0}`) }, ""},
		"metadata of data":       {func(f *dataflow.Facts) { labelled(f.DataObjects[0], "jobid", "x").Generation = 7 }, ""},
		"a Secret":               {func(f *dataflow.Facts) { f.Secrets["login"]["user"] = []byte("v") }, "secret"},
		"a new key of a Secret":  {func(f *dataflow.Facts) { f.Secrets["login"]["more"] = []byte("v") }, "secret"},
		"a ConfigMap":            {func(f *dataflow.Facts) { f.ConfigMaps["settings"]["s"] = []byte("2") }, "map"},
		"the config of a target": {func(f *dataflow.Facts) { f.Targets[0].Spec.Configuration.Raw = []byte(`{"x":1}`) }, "list targets"},
		"spaces in that config":  {func(f *dataflow.Facts) { f.Targets[0].Spec.Configuration.Raw = []byte(`{ "kubeconfig" : "of eu" }`) }, ""},
		"the type of a target":   {func(f *dataflow.Facts) { f.Targets[0].Spec.Type = "vm" }, "list targets"},
		"the Secret of a target": {func(f *dataflow.Facts) { f.Secrets["creds"]["token"] = []byte("new") }, "list one"},
		"another key of it":      {func(f *dataflow.Facts) { f.Secrets["creds"]["other"] = []byte("new") }, ""},
		"that key is gone":       {func(f *dataflow.Facts) { delete(f.Secrets["creds"], "token") }, "list one"},
		"the Secret is gone":     {func(f *dataflow.Facts) { delete(f.Secrets, "creds") }, "list one"},
		"the key is empty":       {func(f *dataflow.Facts) { f.Secrets["creds"]["token"] = nil }, "list one"},
		"another Secret":         {func(f *dataflow.Facts) { f.Targets[1].Spec.SecretRef.Name = "login" }, "list one"},
		"a label of a target":    {func(f *dataflow.Facts) { f.Targets[0].Labels = map[string]string{"region": "eu"} }, "list targets"},
		"an annotation":          {func(f *dataflow.Facts) { f.Targets[0].Annotations = map[string]string{"a": "b"} }, "list targets"},
		"what kubectl remembers": {func(f *dataflow.Facts) {
			f.Targets[0].Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "b"}
		}, ""},
		"the job of a target": {func(f *dataflow.Facts) { labelled(f.Targets[0], "jobid", "9") }, ""},
		"who wrote it and when": {func(f *dataflow.Facts) {
			f.Targets[0].ManagedFields = []metav1.ManagedFieldsEntry{{}}
			f.Targets[0].ResourceVersion = "9"
		}, ""},
		"an object that is not imported": {func(f *dataflow.Facts) { f.Targets = append(f.Targets, cluster(t, "asia")) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			hashes := h.Hash(hashable(t, c.change))
			for imported, hash := range hashes.ByImport {
				if changed := hash != base.ByImport[imported]; changed != strings.Contains(" "+c.want+" ", " "+imported+" ") {
					t.Errorf("the hash of %s changed: %t", imported, changed)
				}
			}
			if (hashes.All != base.All) != (c.want != "") {
				t.Errorf("the hash of all changed: %t", hashes.All != base.All)
			}
		})
	}
}

func TestHashesDependOnTheKey(t *testing.T) {
	one, other := hasher(t, "a").Hash(hashable(t, nil)), hasher(t, "b").Hash(hashable(t, nil))
	if one.All == other.All || one.ByImport["secret"] == other.ByImport["secret"] {
		t.Error("another key gives the same hash: it can be guessed without the key")
	}
}

func TestEqualValuesUnderOtherNames(t *testing.T) {
	value := dataflow.Import{Type: lsv1alpha1.ImportTypeData, Data: "x"}
	h := hasher(t, "k")
	if h.Hash(dataflow.Resolved{"a": value}).All == h.Hash(dataflow.Resolved{"b": value}).All {
		t.Error("an import was renamed and the hash is the same")
	}
	if h.Hash(dataflow.Resolved{}).All == h.Hash(dataflow.Resolved{"a": value}).All {
		t.Error("an import was added and the hash is the same")
	}
	target := dataflow.Target{Target: cluster(t, "eu")}
	single := dataflow.Import{Type: lsv1alpha1.ImportTypeTarget, Targets: []dataflow.Target{target}}
	list := dataflow.Import{Type: lsv1alpha1.ImportTypeTargetList, Targets: []dataflow.Target{target}}
	if h.Hash(dataflow.Resolved{"a": single}).All == h.Hash(dataflow.Resolved{"a": list}).All {
		t.Error("a target became a list and the hash is the same")
	}
}

func TestHashesOfEarlierControllersAreRecognised(t *testing.T) {
	for text, want := range map[string]bool{
		hasher(t, "k").Hash(hashable(t, nil)).All: true,
		"": false,
		"0c8a40c2e3dbe4c41b7a1d6f4f2f0c0f2ab6c0de":                         false,
		"zz8a40c2e3dbe4c41b7a1d6f4f2f0c0f2ab6c0de0c8a40c2e3dbe4c41b7a1d6f": false,
	} {
		if got := dataflow.IsHash(text); got != want {
			t.Errorf("IsHash(%q) = %v", text, got)
		}
	}
}
