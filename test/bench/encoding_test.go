// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"compress/gzip"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// BenchmarkEncodings compares JSON with CBOR as API servers write them and our clients read them: a list of each kind of roots that have
// succeeded.
func BenchmarkEncodings(b *testing.B) {
	s := newStand(b, lsv1alpha1.FlowJob)
	s.create(b, names("encoded", 50))
	scheme, err := testkit.Scheme()
	check(b, err)
	text := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{})
	binary := cbor.NewSerializer(scheme, scheme)
	for _, kind := range []string{"Installation", "Execution", "DeployItem", "Target"} {
		list := &unstructured.UnstructuredList{} // the type in which API servers keep custom resources
		list.SetGroupVersionKind(lsv1alpha1.SchemeGroupVersion.WithKind(kind + "List"))
		check(b, s.client.List(b.Context(), list, client.InNamespace(namespace)))
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				before, after := encodingOf(b, text, list), encodingOf(b, binary, list)
				b.ReportMetric(before.bytes, "json-bytes")
				b.ReportMetric(after.bytes/before.bytes, "x-bytes")
				b.ReportMetric(after.packed/before.packed, "x-packed")
				b.ReportMetric(after.encode.Seconds()/before.encode.Seconds(), "x-encode")
				b.ReportMetric(after.decode.Seconds()/before.decode.Seconds(), "x-decode")
			}
		})
	}
}

// encoding is the cost of one format of a list: its size, also compressed as API servers do with long answers, and the shortest time of
// several.
type encoding struct {
	bytes, packed  float64
	encode, decode time.Duration
}

// attempts is how often a time is measured: the shortest is least disturbed by other work on the machine.
const attempts = 30

func encodingOf(b *testing.B, s runtime.Serializer, list runtime.Object) encoding {
	b.Helper()
	result := encoding{encode: time.Hour, decode: time.Hour}
	encode := s.Encode
	if quicker, ok := s.(runtime.NondeterministicEncoder); ok {
		encode = quicker.EncodeNondeterministic // answers are never compared byte by byte
	}
	var written bytes.Buffer
	for range attempts {
		written.Reset()
		began := time.Now()
		check(b, encode(list, &written))
		result.encode = min(result.encode, time.Since(began))
	}
	for range attempts {
		began := time.Now()
		_, _, err := s.Decode(written.Bytes(), nil, nil)
		check(b, err)
		result.decode = min(result.decode, time.Since(began))
	}
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	check(b, err)
	_, err = writer.Write(written.Bytes())
	check(b, err)
	check(b, writer.Close())
	result.bytes, result.packed = float64(written.Len()), float64(packed.Len())
	return result
}
