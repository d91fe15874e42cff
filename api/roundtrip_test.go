// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"espalier.dev/api"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

const rounds = 30

// fileFormats never are objects of an API server, so no client holds them as unstructured content. The conversion cannot
// tell an absent template of a nested installation from an empty one.
var fileFormats = map[string]bool{"Blueprint": true, "InstallationTemplate": true}

// TestRoundTrip takes random objects of every kind through everything that reads and writes them.
func TestRoundTrip(t *testing.T) {
	scheme := newScheme(t)
	ways := map[string]func(t *testing.T, object runtime.Object) runtime.Object{
		"JSON": throughSerializer(
			jsonserializer.NewSerializerWithOptions(
				jsonserializer.DefaultMetaFactory,
				scheme,
				scheme,
				jsonserializer.SerializerOptions{Strict: true},
			),
		),
		"YAML": throughSerializer(
			jsonserializer.NewSerializerWithOptions(
				jsonserializer.DefaultMetaFactory,
				scheme,
				scheme,
				jsonserializer.SerializerOptions{Strict: true, Yaml: true},
			),
		),
		"CBOR": throughSerializer(cbor.NewSerializer(scheme, scheme)),
		// Cached and dynamic clients hold objects as unstructured content.
		"unstructured": throughUnstructured,
		"deep copy":    func(_ *testing.T, object runtime.Object) runtime.Object { return object.DeepCopyObject() },
	}
	for kind := range ownKinds(scheme) {
		t.Run(kind.GroupVersion().String()+"/"+kind.Kind, func(t *testing.T) {
			for seed := range uint64(rounds) {
				object := randomObject(t, scheme, kind, seed)
				for way, through := range ways {
					if way == "unstructured" && fileFormats[kind.Kind] {
						continue
					}
					if got := through(t, object); !equality.Semantic.DeepEqual(object, got) {
						t.Fatalf("%s changed the object of seed %d:\nbefore %s\nafter  %s", way, seed, text(t, object), text(t, got))
					}
				}
			}
		})
	}
}

// TestAddToScheme counts the kinds, so that a forgotten registration shows.
func TestAddToScheme(t *testing.T) {
	counts := map[string]int{}
	for kind := range ownKinds(newScheme(t)) {
		counts[kind.GroupVersion().String()]++
	}
	want := map[string]int{
		"landscaper.gardener.cloud/v1alpha1":                    8*2 + 2, // with lists, and two file formats
		"pipelines.weave.works/v1alpha1":                        2,
		"gitops.weave.works/v1alpha1":                           2,
		"espalier.dev/v1alpha1":                                 2,
		"manifest.deployer.landscaper.gardener.cloud/v1alpha1":  2,
		"manifest.deployer.landscaper.gardener.cloud/v1alpha2":  2,
		"helm.deployer.landscaper.gardener.cloud/v1alpha1":      2,
		"container.deployer.landscaper.gardener.cloud/v1alpha1": 2,
		"mock.deployer.landscaper.gardener.cloud/v1alpha1":      1,
	}
	if !reflect.DeepEqual(counts, want) {
		t.Errorf("kinds by group: %v, want %v", counts, want)
	}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// ownKinds leaves out the kinds of options and watch events that every group has.
func ownKinds(scheme *runtime.Scheme) map[schema.GroupVersionKind]reflect.Type {
	own := map[schema.GroupVersionKind]reflect.Type{}
	for kind, goType := range scheme.AllKnownTypes() {
		if strings.HasPrefix(goType.PkgPath(), "espalier.dev/api") {
			own[kind] = goType
		}
	}
	return own
}

func throughSerializer(serializer runtime.Serializer) func(*testing.T, runtime.Object) runtime.Object {
	return func(t *testing.T, object runtime.Object) runtime.Object {
		var buffer bytes.Buffer
		if err := serializer.Encode(object, &buffer); err != nil {
			t.Fatalf("encode: %v", err)
		}
		got, _, err := serializer.Decode(buffer.Bytes(), nil, nil)
		if err != nil {
			t.Fatalf("decode: %v\n%s", err, text(t, object))
		}
		return got
	}
}

func throughUnstructured(t *testing.T, object runtime.Object) runtime.Object {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatalf("to unstructured: %v", err)
	}
	got := reflect.New(reflect.TypeOf(object).Elem()).Interface().(runtime.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, got, true); err != nil {
		t.Fatalf("from unstructured: %v", err)
	}
	return got
}

func text(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func randomObject(t *testing.T, scheme *runtime.Scheme, kind schema.GroupVersionKind, seed uint64) runtime.Object {
	t.Helper()
	object, err := scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	filler{rand.New(rand.NewPCG(seed, 0))}.fill(reflect.ValueOf(object).Elem(), 0)
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object
}

// filler puts random values into everything it is given.
type filler struct{ random *rand.Rand }

// maxDepth ends types that contain themselves.
const maxDepth = 12

func (f filler) fill(v reflect.Value, depth int) {
	if f.fillWellKnown(v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), depth+1)
		}
	case reflect.Pointer:
		if depth < maxDepth && f.random.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		f.fillSlice(v, depth)
	case reflect.Map:
		f.fillMap(v, depth)
	default:
		f.fillScalar(v)
	}
}

// fillWellKnown handles the types whose values are restricted.
func (f filler) fillWellKnown(v reflect.Value) bool {
	switch target := v.Addr().Interface().(type) {
	case *metav1.Time:
		*target = metav1.NewTime(time.Unix(f.random.Int64N(1<<32), 0).UTC())
	case *metav1.ObjectMeta:
		target.Name, target.Labels = f.word(), map[string]string{f.word(): f.word()}
	case *metav1.ListMeta:
		target.ResourceVersion = f.word()
	case *metav1.TypeMeta:
		// What is registered must match; the caller sets it.
	case *runtime.RawExtension:
		target.Raw = []byte(`{"apiVersion":"v1","kind":"` + f.word() + `"}`)
	case *landscaper.AnyJSON:
		target.Raw = f.anyJSON()
	default:
		return false
	}
	return true
}

func (f filler) anyJSON() []byte {
	values := []string{`{"a":{"b":[1,"two",null]}}`, `["a",true]`, `"text"`, `12`, `false`, `{}`, `[]`}
	return []byte(values[f.random.IntN(len(values))])
}

// fillSlice leaves some slices nil. Where an empty one means something else, it is kept apart by omitzero.
func (f filler) fillSlice(v reflect.Value, depth int) {
	if length := f.random.IntN(3); length > 0 && depth < maxDepth {
		v.Set(reflect.MakeSlice(v.Type(), length, length))
		for i := range length {
			f.fill(v.Index(i), depth+1)
		}
	}
}

func (f filler) fillMap(v reflect.Value, depth int) {
	if f.random.IntN(2) == 0 || depth >= maxDepth {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	element := reflect.New(v.Type().Elem()).Elem()
	f.fill(element, depth+1)
	v.SetMapIndex(reflect.ValueOf(f.word()), element)
}

func (f filler) fillScalar(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.word())
	case reflect.Bool:
		v.SetBool(f.random.IntN(2) == 0)
	case reflect.Uint8:
		v.SetUint(f.random.Uint64N(256))
	default:
		v.SetInt(f.random.Int64N(1 << 31))
	}
}

func (f filler) word() string { return "w" + strconv.Itoa(f.random.IntN(1000)) }
