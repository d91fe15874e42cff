// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"os"
	"strings"
	"testing"
)

// Both pages that list the responses agree with the server about a missing pipeline, for both endpoints.
func TestPIP26_PIP27_TheDocumentsSayWhatIsAnsweredForAnUnknownPipeline(t *testing.T) {
	for _, page := range []string{"../../docs/approvals.md", "../../docs/spec/04-pipeline-protocol.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "|") || !strings.Contains(strings.ToLower(line), "pipeline does not exist") {
				continue
			}
			if rows++; !strings.Contains(line, "401") || strings.Contains(line, "404") {
				t.Errorf("%s says something else: %s", page, line)
			}
		}
		if rows != 2 {
			t.Errorf("%s has %d rows about a pipeline that does not exist, want one for each endpoint", page, rows)
		}
	}
}
