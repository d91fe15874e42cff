// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/testkit/helmcharts"
)

const packedChart = "chart/2-chart.yaml"

const chartManifest = `# SPDX-FileCopyrightText: The Espalier authors
# SPDX-License-Identifier: Apache-2.0
#
# The chart in the folder chart, packed and in base64. Made by go test ./examples -update.
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DataObject
metadata:
  namespace: page
  name: chart
data: %s
`

// The example installs the chart in its folder.
func TestTheChartIsPacked(t *testing.T) {
	want := chartFiles(t)
	if flag.Lookup("update").Value.String() == "true" { // defined by the testkit
		text := fmt.Sprintf(chartManifest, base64.StdEncoding.EncodeToString(helmcharts.Pack(t, want)))
		if err := os.WriteFile(packedChart, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := readFile(os.DirFS("."), packedChart)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects: %v", len(objects), err)
	}
	text, _ := objects[0].Object["data"].(string)
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	files, err := archive.Read(bytes.NewReader(packed), archive.Default)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, content := range files.Below("chart") {
		got[name] = string(content)
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("the chart has changed since it was packed: run go test ./examples -update\n- in the folder, + packed:\n%s", difference)
	}
}

func chartFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	folder := os.DirFS(path.Join("chart", "chart"))
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		files[name] = string(content)
		return err
	})
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	return files
}
