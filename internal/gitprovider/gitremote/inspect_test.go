// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	blobObject  = 3
	deltaObject = 7
)

// pack writes objects as a server would send them.
type pack struct{ content bytes.Buffer }

func newPack(count uint32) *pack {
	p := &pack{}
	p.content.WriteString("PACK")
	_ = binary.Write(&p.content, binary.BigEndian, []uint32{2, count})
	return p
}

func (p *pack) add(kind byte, declared int, reference string, data []byte) {
	first, rest := byte(declared&15)|kind<<4, declared>>4
	for rest > 0 {
		p.content.WriteByte(first | 0x80)
		first, rest = byte(rest&0x7f), rest>>7
	}
	p.content.WriteByte(first)
	p.content.WriteString(reference)
	w := zlib.NewWriter(&p.content)
	_, _ = w.Write(data)
	_ = w.Close()
}

func (p *pack) write(t *testing.T) string {
	t.Helper()
	p.content.Write(make([]byte, 20))
	file := filepath.Join(t.TempDir(), "pack")
	if err := os.WriteFile(file, p.content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// difference returns the start of a delta, with the size of its result.
func difference(result uint64) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, 1), result), 1, 'x')
}

func TestPacksThatBecomeTooLargeAreNotUnpacked(t *testing.T) {
	limits := Limits{Object: 1 << 20, Unpacked: 2 << 20}.withDefaults()
	one := func(kind byte, declared int, data []byte) *pack {
		p := newPack(1)
		reference := ""
		if kind == deltaObject {
			reference = strings.Repeat("r", 20)
		}
		p.add(kind, declared, reference, data)
		return p
	}
	many := newPack(3)
	for range 3 {
		many.add(blobObject, 900<<10, "", make([]byte, 900<<10))
	}
	for name, c := range map[string]struct {
		pack *pack
		says string
	}{
		"a small file":                     {one(blobObject, 5, []byte("hello")), ""},
		"a small difference":               {one(deltaObject, 4, difference(100)), ""},
		"a file of zeros":                  {one(blobObject, 2<<20, make([]byte, 2<<20)), "a file or directory"},
		"a file that is larger than told":  {one(blobObject, 10, make([]byte, 2<<20)), "exceeds declared size"},
		"a difference with a large result": {one(deltaObject, len(difference(1<<40)), difference(1<<40)), "a file or directory"},
		"a difference with no end":         {one(deltaObject, 12, append(bytes.Repeat([]byte{0xff}, 11), 1)), "a file or directory"},
		"many files":                       {many, "the unpacked content"},
		"fewer objects than told":          {newPack(5), ""},
	} {
		err := inspect(t.Context(), c.pack.write(t), limits)
		switch {
		case name == "fewer objects than told":
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// FuzzInspect searches for packs that make inspect panic or hang.
func FuzzInspect(f *testing.F) {
	p := newPack(2)
	p.add(blobObject, 5, "", []byte("hello"))
	p.add(deltaObject, 4, strings.Repeat("r", 20), difference(100))
	f.Add(p.content.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "pack")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		limits := Limits{Object: 1 << 20, Unpacked: 2 << 20, Objects: 100}.withDefaults()
		objects := &Objects{directory: t.TempDir(), limits: limits}
		defer func() { _ = objects.Close() }()
		_ = objects.unpack(t.Context(), file)
	})
}
